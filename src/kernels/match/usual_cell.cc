#include "kernels/match/usual_cell.h"

#include "ops/op.h"

namespace fettle::kernels {
namespace {

using ops::RecurrentAttributes;
using ops::RecurrentKind;

bool HasUsualActivations(const RecurrentAttributes& cell) {
  using Kind = ops::CellActivation::Kind;
  const size_t per_direction = cell.activations_per_direction();
  for (size_t i = 0; i < cell.activations.size(); ++i) {
    const bool is_gate = cell.kind != RecurrentKind::kRnn && i % per_direction == 0;
    if (cell.activations[i].kind != (is_gate ? Kind::kSigmoid : Kind::kTanh)) return false;
  }
  return true;
}

}  // namespace

Result<RecurrentAttributes> ReadUsualCell(const ir::Graph& group, bool allow_lengths) {
  if (group.nodes().size() != 1) return Unsupported("computes recurrent operators only");
  const ir::Node& node = group.nodes()[0];
  if (node.op != "LSTM"_op && node.op != "GRU"_op && node.op != "RNN"_op)
    return Unsupported("computes recurrent operators only");
  const auto is_constant = [&](size_t i) {
    return node.input(i) == ir::kAbsent || group.value(node.input(i)).is_constant();
  };
  if (!is_constant(kRecurrentW) || !is_constant(kRecurrentR) || !is_constant(kRecurrentB))
    return Unsupported("the weights are not constant");
  if (node.input(kRecurrentLengths) != ir::kAbsent && !allow_lengths)
    return Unsupported("sequences of different lengths");
  if (node.input(kRecurrentPeepholes) != ir::kAbsent) return Unsupported("peepholes");
  const auto shape = [&](size_t i) { return *group.value(node.input(i)).shape; };
  ASSIGN_OR_RETURN(
      RecurrentAttributes cell,
      ops::ReadRecurrent(node, shape(kRecurrentX), shape(kRecurrentW), shape(kRecurrentR)));
  if (cell.batch_first) return Unsupported("the batch is the first axis");
  if (cell.clip > 0 || cell.input_forget) return Unsupported("clipped or coupled gates");
  if (!HasUsualActivations(cell)) return Unsupported("unusual activations");
  return cell;
}

}  // namespace fettle::kernels
