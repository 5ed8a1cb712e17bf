#include "kernels/work.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "kernels/arithmetic.h"
#include "ops/macs.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

/// Whether windows leave nothing of the input between them.
bool WindowsMeet(const ir::Node& node) {
  const std::vector<int64_t> strides = node.attributes.Ints("strides"),
                             kernel = node.attributes.Ints("kernel_shape"),
                             dilations = node.attributes.Ints("dilations");
  for (size_t i = 0; i < strides.size(); ++i) {
    const bool is_dense = i >= dilations.size() || dilations[i] == 1;
    if (strides[i] > (i < kernel.size() && is_dense ? kernel[i] : 1)) return false;
  }
  return true;
}

/// Whether every element of the first operand is read: not so where windows leave gaps or parts are
/// picked.
bool ReadsAll(const ir::Graph& group, const ir::Node& node, const ops::Operator& op) {
  for (ir::Trait trait : {ir::Trait::kElementwise, ir::Trait::kReduces, ir::Trait::kNormalises}) {
    if (op.Has(trait)) return true;
  }
  if (node.op == "QuantizeLinear"_op)
    return std::find(group.outputs.begin(), group.outputs.end(), node.output(0)) !=
           group.outputs.end();
  if (node.op == "Conv"_op || node.op == "MaxPool"_op || node.op == "AveragePool"_op)
    return WindowsMeet(node);
  return node.op == "MatMul"_op || node.op == "Gemm"_op || node.op == "Softmax"_op ||
         node.op == "Concat"_op || node.op == "Transpose"_op || node.op == "GlobalAveragePool"_op ||
         node.op == "GlobalMaxPool"_op || node.op == "LSTM"_op || node.op == "GRU"_op ||
         node.op == "RNN"_op;
}

/// Bytes of the group's operands that its kernels read at least once: whole inputs, and constants
/// of products in the narrowest form that they are packed in.
double LeastRead(const Problem& problem) {
  const ir::Graph& group = *problem.group;
  IdVector<ir::ValueId, bool> counted(group.values().size());
  double bytes = 0;
  for (const ir::Node& node : group.nodes()) {
    const ops::Operator& op = ops::OperatorOf(node);
    if (!ReadsAll(group, node, op)) continue;
    for (ir::ValueId id : node.inputs) {
      if (id == ir::kAbsent || counted[id]) continue;
      counted[id] = true;
      const auto input = std::find(group.inputs.begin(), group.inputs.end(), id);
      if (input != group.inputs.end()) {
        const State& state = problem.states.inputs[input - group.inputs.begin()];
        bytes += static_cast<double>(StateBytes(problem.shape(id), state));
      } else if (op.macs != nullptr && group.value(id).is_constant()) {
        const int64_t elements = problem.shape(id).elements();
        bytes += static_cast<double>(StorageBytes(group.value(id).dtype, elements));
      }
    }
  }
  return bytes;
}

bool IsQuantised(const ir::Graph& group) {
  return std::any_of(group.nodes().begin(), group.nodes().end(), [](const ir::Node& node) {
    return node.op->Has(ir::Trait::kQuantises) && node.op != "QuantizeLinear"_op;
  });
}

/// Whether the group compares or sums windows of bytes, without weights.
bool PoolsBytes(const Problem& problem) {
  bool pools = false;
  for (const ir::Node& node : problem.group->nodes()) {
    if (ops::OperatorOf(node).macs == nullptr) continue;
    if (node.inputs.size() != 1) return false;
    pools = true;
  }
  return pools && !problem.states.inputs.empty() &&
         StorageBytes(problem.states.inputs[0].storage, 1) == 1;
}

std::string_view CeilingOf(const KernelDesc& kernel, const Problem& problem) {
  if (IsQuantised(*problem.group)) return "int8 dot";
  const std::string_view ceiling = RowOf(kernel.arithmetic).ceiling;
  return ceiling == "fp32 fma" && PoolsBytes(problem) ? "int8 max" : ceiling;
}

/// A byte of a window is one comparison or addition, where others multiply and add.
double OperationsOfMac(std::string_view ceiling) { return ceiling == "int8 max" ? 1 : 2; }

}  // namespace

Work WorkOf(const KernelDesc& kernel, const Problem& problem, const Match* match,
            const Setting& setting) {
  if (match != nullptr) {
    const std::optional<Work> work = match->work(setting);
    if (work) return *work;
  }
  const ir::Graph& group = *problem.group;
  Work work;
  work.ceiling = CeilingOf(kernel, problem);
  work.operations = OperationsOfMac(work.ceiling) * static_cast<double>(ops::MacsOf(group));
  work.bytes = LeastRead(problem);
  for (size_t i = 0; i < group.outputs.size(); ++i)
    work.bytes +=
        static_cast<double>(StateBytes(problem.shape(group.outputs[i]), problem.states.outputs[i]));
  return work;
}

}  // namespace fettle::kernels
