#include "passes/quantise/fold_weights.h"

#include <algorithm>
#include <vector>

#include "base/hash.h"
#include "ops/quantise/op.h"
#include "ops/quantise/weight_only.h"
#include "passes/edit/editor.h"

namespace fettle::passes {
namespace {

/// (x - zero) * scale of constants.
class Dequantised final : public ConstantSource {
 public:
  Dequantised(DType dtype, Constant x, Constant scales, std::optional<Constant> zeros,
              const ops::QuantAxis& axis)
      : dtype_(dtype),
        x_(std::move(x)),
        scales_(std::move(scales)),
        zeros_(std::move(zeros)),
        axis_(axis) {}

  void CopyTo(int64_t begin, int64_t count, std::byte* out) const override {
    const Dims strides = RowMajorStrides(scales_.shape());
    std::vector<std::byte> codes(StorageBytes(x_.dtype(), count));
    x_.CopyTo(begin, count, codes.data());
    const HostView from{codes.data(), x_.dtype(), Shape{count}, {1}};
    const HostView to{out, dtype_, Shape{count}, {1}};
    std::vector<int64_t> at(x_.shape().rank());
    for (int64_t i = 0; i < count;) {
      Unravel(begin + i, x_.shape(), at);
      const int64_t index = axis_.ScaleOffset(at, strides);
      const double scale = scales_.GetDouble(index), zero = zeros_ ? zeros_->GetDouble(index) : 0;
      for (const int64_t end = std::min(count, i + Run(begin + i)); i < end; ++i)
        to.SetDouble(i, (from.GetDouble(i) - zero) * scale);
    }
  }
  uint64_t Hash() const override {
    const int64_t form[] = {static_cast<int64_t>(axis_.kind), axis_.axis, axis_.block,
                            static_cast<int64_t>(scales_.Hash()),
                            zeros_ ? static_cast<int64_t>(zeros_->Hash()) : 0};
    return HashBytes(std::as_bytes(std::span(form)), x_.Hash());
  }
  std::span<const std::byte> raw_bytes() const override { return x_.raw_bytes(); }

 private:
  /// Elements from `index` on that surely share a scale.
  int64_t Run(int64_t index) const {
    if (axis_.kind == ops::QuantAxis::Kind::kTensor) return x_.elements();
    if (axis_.kind == ops::QuantAxis::Kind::kBlocked) return 1;
    const int64_t inner = x_.shape().Count(axis_.axis + 1, x_.shape().rank());
    return inner - index % inner;
  }

  DType dtype_;
  Constant x_, scales_;
  std::optional<Constant> zeros_;
  ops::QuantAxis axis_;
};

bool IsConstant(const Editor& editor, ir::ValueId id) {
  return id == ir::kAbsent || editor.value(id).is_constant();
}

/// Whether kernels compute the operator of integers, or move them.
bool HasIntegerForm(ir::OpRef op) {
  return op == "Conv"_op || op == "MatMul"_op || op == "Gemm"_op ||
         op->Has(ir::Trait::kElementwise) || op->Has(ir::Trait::kMovesElements);
}

/// Whether a reader of `dequantiser` has a use for the integers.
bool IsReadAsIntegers(const Editor& editor, const ir::Node& dequantiser, const ir::Node& reader) {
  if (ops::ReadWeightOnly(editor.graph(), dequantiser, reader).ok()) return true;
  return HasIntegerForm(reader.op) &&
         std::any_of(reader.inputs.begin(), reader.inputs.end(), [&](ir::ValueId id) {
           const ir::Node* other = editor.Producer(id, "DequantizeLinear"_op);
           return other != nullptr && !IsConstant(editor, other->input(0));
         });
}

Result<std::optional<Constant>> Fold(const Editor& editor, const ir::Node& node) {
  const auto constant = [&](size_t i) { return *editor.value(node.input(i)).constant; };
  const ir::Value& result = editor.value(node.output(0));
  if (!IsFloat(result.dtype)) return std::optional<Constant>();
  std::optional<Constant> zeros;
  if (node.input(2) != ir::kAbsent) zeros = constant(2);
  const Constant x = constant(0), scales = constant(1);
  ASSIGN_OR_RETURN(const ops::QuantAxis axis, ops::ReadQuantAxis(node, x.shape(), scales.shape()));
  return std::optional(Constant::Generated(
      result.dtype, x.shape(),
      std::make_shared<Dequantised>(result.dtype, x, scales, std::move(zeros), axis)));
}

}  // namespace

Result<bool> FoldWeights(ir::Graph& graph) {
  if (!HasOp(graph, {"DequantizeLinear"_op})) return false;
  Editor editor(graph);
  const ir::NodeId end = editor.end();
  for (ir::NodeId id = 0; id < end; ++id) {
    const ir::Node& node = editor.node(id);
    if (node.dead || node.op != "DequantizeLinear"_op) continue;
    const ir::ValueId output = node.output(0);
    const auto is_constant = [&](ir::ValueId input) { return IsConstant(editor, input); };
    if (!std::all_of(node.inputs.begin(), node.inputs.end(), is_constant)) continue;
    const std::vector<ir::NodeId>& readers = editor.Readers(output);
    const bool kept = std::any_of(readers.begin(), readers.end(), [&](ir::NodeId reader) {
      return IsReadAsIntegers(editor, node, editor.node(reader));
    });
    if (kept) continue;
    ASSIGN_OR_RETURN(std::optional<Constant> folded, Fold(editor, node));
    if (folded) editor.MakeConstant(output, *std::move(folded));
  }
  return editor.Finish();
}

}  // namespace fettle::passes
