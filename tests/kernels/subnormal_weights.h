// Groups half of whose weights are subnormal, as those of some trained networks.
#pragma once

#include <algorithm>
#include <vector>

#include "ir/graph.h"

namespace fettle::kernels {

/// Whether `id` is f32 data: no scalar, no argument such as the factors of Resize.
inline bool IsData(const ir::Graph& graph, ir::ValueId id) {
  if (graph.value(id).dtype != DType::kF32 || graph.value(id).shape->elements() < 2) return false;
  return std::none_of(graph.nodes().begin(), graph.nodes().end(), [&](const ir::Node& node) {
    for (size_t i = 0; i < node.inputs.size(); ++i)
      if (node.inputs[i] == id && node.op->ReadsOnHost(i)) return true;
    return false;
  });
}

/// Makes every second element of the f32 weights of `graph` subnormal, and of its `inputs` where it
/// has no weights: half of what kernels read of one operand is subnormal either way.
inline void MakeHalfSubnormal(ir::Graph& graph, const std::vector<Tensor>& inputs) {
  const auto shrink = [](const Tensor& tensor) {
    for (int64_t i = 1; i < tensor.elements(); i += 2)
      tensor.view().SetDouble(i, tensor.view().GetDouble(i) * 1e-39);
  };
  bool has_weights = false;
  for (ir::ValueId id : graph.values().ids()) {
    ir::Value& value = graph.value(id);
    if (!value.is_constant() || !IsData(graph, id)) continue;
    const Tensor copy = value.constant->ToTensor().value();
    shrink(copy);
    value.constant = std::make_shared<const Constant>(Constant::FromTensor(copy));
    has_weights = true;
  }
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!has_weights && IsData(graph, graph.inputs[i])) shrink(inputs[i]);
}

}  // namespace fettle::kernels
