#include "kernels/opencl/one_row/gate.h"

#include <algorithm>

#include "ops/elementwise/op.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

/// GATE of an activation; 0: there is none.
int64_t GateOf(const ir::Node& node) {
  constexpr int64_t kSwish = 1, kGeluTanh = 2, kGeluErf = 3;
  if (node.op == "Swish"_op) return ops::ReadElementwise(node).a == 1 ? kSwish : 0;
  if (node.op == "Gelu"_op) return ops::ReadElementwise(node).a != 0 ? kGeluTanh : kGeluErf;
  return 0;
}

}  // namespace

Result<GatedPair> ReadGatedPair(const ir::Graph& group) {
  const ir::Node& last = group.nodes()[group.nodes().size() - 1];
  if (last.op != "Mul"_op) return GatedPair();
  for (const ir::Node& node : group.nodes()) {
    const auto side = std::ranges::find(last.inputs, node.outputs[0]);
    const int64_t gate = side == last.inputs.end() ? 0 : GateOf(node);
    if (gate == 0) continue;
    return GatedPair{gate, node.inputs[0], last.inputs[side == last.inputs.begin() ? 1 : 0]};
  }
  return Unsupported("multiplies by another activation than Swish or Gelu");
}

Result<std::vector<ir::NodeId>> ReadSiblings(const ir::Graph& group, ir::OpRef op, size_t before,
                                             const GatedPair& pair) {
  std::vector<ir::NodeId> products;
  for (const ir::NodeId id : group.nodes().ids())
    if (group.node(id).op == op) products.push_back(id);
  const size_t behind = pair.has_gate() ? 2 : 0;
  const size_t results = pair.has_gate() ? 1 : products.size();
  if (products.size() < 2 || products.size() > 3 || group.outputs.size() != results ||
      group.nodes().size() != before + products.size() + behind)
    return Unsupported("computes two or three {} of one row only", op);
  if (!pair.has_gate()) return products;
  const auto makes = [&](ir::ValueId value) {
    return [&group, value](ir::NodeId id) { return group.node(id).outputs[0] == value; };
  };
  const auto gated = std::ranges::find_if(products, makes(pair.gated));
  if (products.size() != 2 || gated == products.end() ||
      std::ranges::none_of(products, makes(pair.factor)) || pair.gated == pair.factor)
    return Unsupported("a gate beside other products");
  if (gated != products.begin()) std::swap(products[0], products[1]);
  return products;
}

}  // namespace fettle::kernels
