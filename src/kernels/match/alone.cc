#include "kernels/match/alone.h"

#include <algorithm>

namespace fettle::kernels {

AloneNode Alone(const ir::Graph& group, const ir::Node& node, bool opened) {
  AloneNode alone;
  ir::Node copy = node;
  std::vector<ir::ValueId> known, made;
  for (ir::ValueId& id : copy.inputs) {
    if (id == ir::kAbsent) continue;
    const ir::ValueId original = id;
    if (const auto at = std::ranges::find(known, original); at != known.end()) {
      id = made[at - known.begin()];
      continue;
    }
    ir::Value value = group.value(original);
    if (opened && value.is_constant() && value.constant->elements() > 1) value.constant = nullptr;
    const bool is_operand = !value.is_constant();
    id = alone.graph.AddValue(std::move(value));
    known.push_back(original);
    made.push_back(id);
    if (!is_operand) continue;
    alone.graph.inputs.push_back(id);
    alone.inputs.push_back(original);
  }
  copy.outputs[0] = alone.graph.AddValue(group.value(node.outputs[0]));
  alone.graph.outputs = {copy.outputs[0]};
  alone.graph.AddNode(std::move(copy));
  return alone;
}

}  // namespace fettle::kernels
