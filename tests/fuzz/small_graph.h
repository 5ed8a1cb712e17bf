// What fuzz targets compute on, and what is too large for them.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/macs.h"
#include "ops/op.h"

namespace fettle {

inline constexpr int64_t kElements = 1 << 12;
inline constexpr int64_t kMacs = 1 << 20;

/// Whether all shapes are known and the references have little to do.
inline bool IsSmall(const ir::Graph& graph) {
  int64_t elements = 0, macs = 0;
  for (const ir::Value& value : graph.values()) {
    if (!value.has_concrete_shape()) return false;
    elements += value.shape->elements();
    if (elements > kElements) return false;
  }
  for (const ir::Node& node : graph.nodes()) {
    macs += ops::MacsOf(graph, node);
    if (macs > kMacs) return false;
  }
  return true;
}

}  // namespace fettle
