// What fuzz targets compute on, and what is too large for them.
#pragma once

#include <cstdint>
#include <vector>

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
    const ops::Operator& op = ops::OperatorOf(node);
    std::vector<Shape> inputs, outputs;
    const auto shapes = [&](const std::vector<ir::ValueId>& ids, std::vector<Shape>* out) {
      for (ir::ValueId id : ids)
        out->push_back(id == ir::kAbsent ? Shape{0} : *graph.value(id).shape);
    };
    shapes(node.inputs, &inputs);
    shapes(node.outputs, &outputs);
    if (op.macs != nullptr) macs += op.macs(node, inputs, outputs);
    if (macs > kMacs) return false;
  }
  return true;
}

}  // namespace fettle
