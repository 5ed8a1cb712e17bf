#include "passes/quantise/implied_clamps.h"

#include <limits>

#include "passes/edit/constants.h"
#include "passes/edit/editor.h"
#include "passes/quantise/byte_type.h"

namespace fettle::passes {
namespace {

/// The numbers that a node clamps to; nothing where it is not a clamp.
struct Bounds {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
};

std::optional<Bounds> BoundsOf(const ir::Graph& graph, const ir::Node& node) {
  Bounds bounds;
  if (node.op == "Relu"_op) {
    bounds.least = 0;
    return bounds;
  }
  if (node.op != "Clip"_op) return std::nullopt;
  for (const auto& [i, bound] : {std::pair(1, &bounds.least), std::pair(2, &bounds.most)}) {
    if (node.input(i) == ir::kAbsent) continue;
    const Constant* constant = ConstantOf(graph, node.input(i));
    if (constant == nullptr || constant->elements() != 1) return std::nullopt;
    *bound = constant->GetDouble(0);
  }
  return bounds;
}

/// Rounding is monotonic: what is beyond a bound saturates where the bound itself does.
bool IsImplied(const Bounds& bounds, const ByteType& type) {
  return type.scale > 0 && bounds.least <= bounds.most &&
         type.Quantise(bounds.least) == type.low() && type.Quantise(bounds.most) == type.high();
}

}  // namespace

Result<bool> DropImpliedClamps(ir::Graph& graph) {
  if (!HasOp(graph, {"QuantizeLinear"_op})) return false;
  Editor editor(graph);
  const ir::NodeId end = editor.end();
  for (ir::NodeId id = 0; id < end; ++id) {
    if (editor.node(id).dead || editor.node(id).op != "QuantizeLinear"_op) continue;
    const Result<ByteType> type = ReadByteType(graph, editor.node(id));
    const ir::Node* clamp = editor.Producer(editor.node(id).inputs[0]);
    if (!type.ok() || clamp == nullptr) continue;
    const std::optional<Bounds> bounds = BoundsOf(graph, *clamp);
    if (bounds && IsImplied(*bounds, *type)) editor.SetInput(id, 0, clamp->inputs[0]);
  }
  return editor.Finish();
}

}  // namespace fettle::passes
