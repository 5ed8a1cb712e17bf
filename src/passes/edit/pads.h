// What a Pad adds around images, and what windows pad by themselves.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph.h"

namespace fettle::passes {

/// Constant numbers around the spatial axes [2, rank).
struct SpatialPads {
  std::vector<int64_t> all;  // of all axes, begins before ends; none is negative
  double fill = 0;
};
/// Nothing unless they are known and leave axes 0 and 1 as they are.
std::optional<SpatialPads> ReadSpatialPads(const ir::Graph& graph, const ir::Node& pad);

/// The spatial pads of a window operator, begins before ends; nothing where they follow the shape.
std::optional<std::vector<int64_t>> WindowPads(const ir::Node& node, size_t spatial);

}  // namespace fettle::passes
