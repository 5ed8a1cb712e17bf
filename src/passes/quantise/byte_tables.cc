#include "passes/quantise/byte_tables.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

#include "passes/edit/constants.h"
#include "passes/edit/editor.h"

namespace fettle::passes {
namespace {

constexpr int64_t kBytes = 256;

bool IsByte(DType dtype) { return dtype == DType::kU8 || dtype == DType::kI8; }

/// A value as a function of one tensor of bytes: what it is for each of them, in the order of
/// their bits.
struct Function {
  ir::ValueId of = ir::kAbsent;
  Tensor results;
};

bool IsIdentity(const Tensor& table, DType from) {
  if (table.dtype() != from) return false;
  const auto* bytes = reinterpret_cast<const uint8_t*>(table.bytes().data());
  for (int64_t i = 0; i < kBytes; ++i) {
    if (bytes[i] != i) return false;
  }
  return true;
}

class TableMaker {
 public:
  explicit TableMaker(Editor& editor) : editor_(editor) {}

  Status Visit(ir::NodeId id) {
    const ir::Node node = editor_.node(id);
    if (node.outputs.size() != 1 || !IsPointwise(node)) return OkStatus();
    ASSIGN_OR_RETURN(std::optional<Function> function, Read(node));
    if (!function) return OkStatus();
    const DType from = editor_.value(function->of).dtype;
    if (IsByte(function->results.dtype())) {
      if (!IsIdentity(function->results, from)) {
        const ir::ValueId table = editor_.AddConstant(Constant::FromTensor(function->results));
        editor_.Replace(id, "TableLookup"_op, {function->of, table});
      } else if (Drop(id, function->of)) {
        return OkStatus();
      }
    }
    functions_.resize(editor_.graph().values().size());
    functions_[node.outputs[0]] = *std::move(function);
    return OkStatus();
  }

 private:
  /// Drops a node whose result is equal to `of`. Where the result is a graph output, `of` takes its
  /// name: what was a function of `of` is one of the output then.
  bool Drop(ir::NodeId id, ir::ValueId of) {
    const ir::ValueId kept = editor_.Bypass(id, of);
    if (kept == ir::kAbsent) return false;
    for (std::optional<Function>& function : functions_)
      if (function && function->of == of) function->of = kept;
    return true;
  }

  static bool IsPointwise(const ir::Node& node) {
    if (node.op == "QuantizeLinear"_op || node.op == "DequantizeLinear"_op ||
        node.op == "TableLookup"_op) {
      return true;
    }
    return node.op->Has(ir::Trait::kElementwise) && !node.op->Has(ir::Trait::kRandom);
  }

  /// What `id` is a function of, itself where nothing else is known; nothing where it is no byte.
  Result<std::optional<Function>> FunctionOf(ir::ValueId id) const {
    if (id < static_cast<ir::ValueId>(functions_.size()) && functions_[id])
      return std::optional<Function>(functions_[id]);
    const DType dtype = editor_.value(id).dtype;
    if (!IsByte(dtype)) return std::optional<Function>();
    ASSIGN_OR_RETURN(Tensor all, Tensor::Create(dtype, Shape{kBytes}));
    auto* bytes = reinterpret_cast<uint8_t*>(all.data());
    std::iota(bytes, bytes + kBytes, uint8_t{0});
    return std::optional<Function>(Function{id, std::move(all)});
  }

  /// An operand that is one number, however it is spread.
  std::optional<Tensor> NumberOf(ir::ValueId id, ir::ValueId like) const {
    const std::optional<double> number = ScalarFor(editor_.graph(), id, like);
    if (!number) return std::nullopt;
    const Result<Constant> one = ConstantFrom(editor_.value(id).dtype, Shape(), {*number});
    if (!one.ok()) return std::nullopt;
    const Result<Tensor> tensor = one->ToTensor();
    return tensor.ok() ? std::optional<Tensor>(*tensor) : std::nullopt;
  }

  /// The node's result as a function of one tensor of bytes; nothing where it is none.
  Result<std::optional<Function>> Read(const ir::Node& node) const {
    std::vector<Tensor> operands(node.inputs.size());
    ir::ValueId of = ir::kAbsent;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ir::ValueId input = node.inputs[i];
      if (input == ir::kAbsent || editor_.value(input).is_constant()) continue;
      ASSIGN_OR_RETURN(std::optional<Function> operand, FunctionOf(input));
      if (!operand || (of != ir::kAbsent && of != operand->of)) return std::optional<Function>();
      of = operand->of;
      operands[i] = operand->results;
    }
    if (of == ir::kAbsent) return std::optional<Function>();
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == ir::kAbsent || !operands[i].empty()) continue;
      const std::optional<Tensor> number = NumberOf(node.inputs[i], of);
      if (!number) return std::optional<Function>();
      operands[i] = *number;
    }
    const Result<std::vector<Tensor>> results = ops::Evaluate(node, operands);
    if (!results.ok() || results->size() != 1 || (*results)[0].shape() != Shape{kBytes})
      return std::optional<Function>();
    return std::optional<Function>(Function{of, (*results)[0]});
  }

  Editor& editor_;
  IdVector<ir::ValueId, std::optional<Function>> functions_;
};

}  // namespace

Result<bool> MakeByteTables(ir::Graph& graph) {
  if (!HasOp(graph, {"QuantizeLinear"_op})) return false;
  Editor editor(graph);
  TableMaker maker(editor);
  const ir::NodeId end = editor.end();
  for (ir::NodeId id = 0; id < end; ++id) {
    if (!editor.node(id).dead) RETURN_IF_ERROR(maker.Visit(id));
  }
  return editor.Finish();
}

}  // namespace fettle::passes
