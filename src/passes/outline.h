// What two graphs of one model, made for different input shapes, have in common.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.h"

namespace fettle::passes {

/// A graph with concrete shapes as two lists: what may not differ between graphs that are treated
/// alike (operators, edges, types, ranks, which values are constants), and the extents of all
/// values, which may a little. O(size); two lists are compared in O(size) too.
struct Outline {
  std::vector<int64_t> structure, extents;

  Outline() = default;
  explicit Outline(const ir::Graph& graph);
};

/// How many times as large or small an extent may be for another to be near it.
inline constexpr int64_t kNearRatio = 4;

/// How far the extents of graphs of one structure are from each other: the largest ratio (1: they
/// are equal); 0 where one is not near the other: only one of them is at most 1, or the ratio is
/// above kNearRatio.
double Distance(const std::vector<int64_t>& a, const std::vector<int64_t>& b);

}  // namespace fettle::passes
