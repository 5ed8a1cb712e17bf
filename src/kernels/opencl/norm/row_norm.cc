#include "kernels/opencl/norm/row_norm.h"

#include <algorithm>

#include "kernels/opencl/norm/operands.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

/// The graph of the first `count` nodes of `group`, of which `output` is left.
std::shared_ptr<const ir::Graph> FirstNodes(const ir::Graph& group, size_t count,
                                            ir::ValueId output) {
  auto first = std::make_shared<ir::Graph>();
  for (const ir::Value& value : group.values()) first->AddValue(value);
  for (size_t i = 0; i < count; ++i) first->AddNode(group.nodes()[i]);
  first->inputs = group.inputs;
  first->outputs = {output};
  return first;
}

}  // namespace

Result<NormedGroup> ReadNormedGroup(const ir::Graph& group) {
  size_t count = group.nodes().size() - 1;
  const ir::Node& node = group.nodes()[count];
  NormedGroup made;
  ASSIGN_OR_RETURN(made.length, LengthOfRows(group, node));
  ir::ValueId from = node.inputs[0];
  const bool has_both = group.outputs.size() == 2;
  bool leaves_sums = !has_both;
  while (true) {
    if (count == 0) return Unsupported("nothing but views before the normalisation");
    leaves_sums |= from == group.outputs[0];
    const ir::Node& before = group.nodes()[count - 1];
    if (before.output(0) != from) return Unsupported("no chain of nodes");
    if (!before.op->Has(ir::Trait::kKeepsBytes)) break;
    from = before.inputs[0];
    --count;
  }
  if (!leaves_sums || group.outputs.size() > 2 || group.outputs.back() != node.output(0))
    return Unsupported("outputs other than the sums and the normalised rows");
  const size_t operands = node.input(2) == ir::kAbsent ? 1 : 2;
  for (size_t i = 1; i <= operands; ++i) {
    if (node.input(i) == ir::kAbsent) return Unsupported("no scale");
    ASSIGN_OR_RETURN(made.norm.packs.emplace_back(),
                     VectorPack(group, node.input(i), made.length, made.length));
  }
  made.norm.epsilon = static_cast<float>(node.attributes.Float("epsilon", 1e-5));
  made.norm.takes_mean = node.op == "LayerNormalization"_op;
  made.rows = FirstNodes(group, count, from);
  return made;
}

}  // namespace fettle::kernels
