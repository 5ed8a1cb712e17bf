#include "passes/clean/fold_node.h"

#include <algorithm>
#include <array>

#include "ops/op.h"
#include "ops/transpose/op.h"
#include "passes/clean/fold_product.h"
#include "passes/clean/fold_slice.h"
#include "passes/edit/constants.h"
#include "tensor/compact_floats.h"
#include "tensor/transposed_constant.h"

namespace fettle::passes {
namespace {

void SetConstant(ir::Value& value, Constant constant) {
  value.dtype = constant.dtype();
  value.shape = constant.shape();
  value.constant = std::make_shared<const Constant>(std::move(constant));
}

using Inputs = std::vector<std::shared_ptr<const Constant>>;

/// Results over these sizes are folded only where they are not much larger than the inputs. What
/// only repeats elements is cheap to do again; what is computed, as a resized table of positions,
/// is not.
constexpr int64_t kLargeMovedBytes = int64_t{2} << 20, kLargeComputedBytes = int64_t{8} << 20;
/// Of Resize, which no kernel but the scalar oracle computes of a constant.
constexpr int64_t kLargeResizedBytes = int64_t{64} << 20;
constexpr int64_t kLargestGrowth = 16;
/// What the scalar oracle computes in a fraction of a second, beside kMostFoldedElements.
constexpr int64_t kMostMacs = 20'000'000;
/// By how much a result is smaller than what it is made of if it spares memory; four times as much
/// is read for it.
constexpr int64_t kShrinks = 16;
/// What passes look into, and no weights.
constexpr int64_t kFewElements = 4096;

int64_t Bytes(const Constant& constant) { return static_cast<int64_t>(constant.bytes().size()); }

std::optional<Constant> FoldConstantOfShape(const ir::Node& node,
                                            const ops::InferContext::Output& result) {
  const auto* attribute = node.attributes.Find("value");
  const auto* element = attribute == nullptr ? nullptr : std::get_if<Constant>(attribute);
  const std::array<std::byte, 16> zero{};
  const size_t size = StorageBytes(result.dtype, 1);
  if (element == nullptr) return Constant::Splat(result.dtype, result.shape, {zero.data(), size});
  if (element->elements() != 1) return std::nullopt;
  return Constant::Splat(result.dtype, result.shape, element->bytes().first(size));
}

/// Elements that are all the same are so wherever they move; of a Concat, if all inputs' are.
std::optional<Constant> FoldMoved(const ir::Node& node, const Inputs& inputs,
                                  const ops::InferContext::Output& result) {
  const bool joins = node.op == "Concat"_op;
  for (const auto& input : inputs) {
    if (joins && (input == nullptr || !input->is_splat() ||
                  !std::ranges::equal(input->bytes(), inputs[0]->bytes())))
      return std::nullopt;
  }
  return Constant::Splat(result.dtype, result.shape, inputs[0]->bytes());
}

std::optional<Constant> FoldElementwise(const ir::Node& node, const Inputs& inputs,
                                        const ops::InferContext::Output& result) {
  std::vector<Tensor> operands;
  bool any_splat = false;
  for (const auto& input : inputs) {
    if (input == nullptr) {
      operands.emplace_back();
      continue;
    }
    if (!input->is_splat() && (input->elements() != 1 || input->source() != nullptr))
      return std::nullopt;
    any_splat |= input->is_splat();
    const Shape ones(Dims(input->shape().rank(), 1));
    const Result<Tensor> one = Constant::Splat(input->dtype(), ones, input->bytes()).ToTensor();
    if (!one.ok()) return std::nullopt;
    operands.push_back(*one);
  }
  if (!any_splat) return std::nullopt;
  const Result<std::vector<Tensor>> one = ops::Evaluate(node, operands);
  if (!one.ok() || one->size() != 1 || (*one)[0].elements() != 1) return std::nullopt;
  return Constant::Splat(result.dtype, result.shape, (*one)[0].bytes());
}

/// Every element of the result is the same: computes one.
std::optional<Constant> FoldRepeated(const ir::Node& node, const ops::Operator& op,
                                     const Inputs& inputs,
                                     const ops::InferContext::Output& result) {
  if (result.shape.elements() == 0) return std::nullopt;
  if (node.op == "ConstantOfShape"_op) return FoldConstantOfShape(node, result);
  // Gather may refuse an index, whatever it reads.
  if (op.Has(ir::Trait::kMovesElements) && node.op != "Gather"_op && inputs[0] != nullptr &&
      inputs[0]->is_splat() && node.outputs.size() == 1)
    return FoldMoved(node, inputs, result);
  if (op.Has(ir::Trait::kElementwise)) return FoldElementwise(node, inputs, result);
  return std::nullopt;
}

/// Halves as floats, and nothing computed: kernels may read them as the halves that they are.
std::optional<Constant> FoldWidened(const ir::Node& node, const Inputs& inputs,
                                    const ops::InferContext::Output& result) {
  if (node.op != "Cast"_op || inputs[0] == nullptr || inputs[0]->dtype() != DType::kF16 ||
      result.dtype != DType::kF32 || inputs[0]->is_splat() || inputs[0]->source() != nullptr ||
      inputs[0]->elements() <= kFewElements)
    return std::nullopt;
  const Shape bytes{Bytes(*inputs[0])};
  return FromCompact(result.shape, {.form = CompactForm::kHalves},
                     Constant::FromBytes(DType::kU8, bytes, inputs[0]->bytes(), inputs[0]));
}

/// Weights too large for a second copy, as the tied embeddings of language models are: whoever
/// packs them reads them in the new order.
std::optional<Constant> FoldTransposed(const ir::Node& node, const Inputs& inputs) {
  if (node.op != "Transpose"_op || inputs[0] == nullptr || inputs[0]->is_splat() ||
      inputs[0]->source() != nullptr || 2 * inputs[0]->elements() <= kMostFoldedElements ||
      !HasWholeBytes(inputs[0]->dtype()))
    return std::nullopt;
  const Result<std::vector<int>> perm = ops::ReadPermutation(node, inputs[0]->shape().rank());
  return perm.ok() ? std::optional(Transposed(*inputs[0], *perm)) : std::nullopt;
}

/// Whether the result is worth its bytes and its arithmetic.
bool IsWorthFolding(const ir::Node& node, const ops::Operator& op, const Inputs& inputs,
                    const ops::Inferred& inferred) {
  int64_t before = 0, after = 0, elements = 0, read = 0;
  std::vector<Shape> input_shapes, output_shapes;
  for (const auto& input : inputs) {
    input_shapes.push_back(input == nullptr ? Shape() : input->shape());
    if (input == nullptr) continue;
    before += Bytes(*input);
    read += StorageBytes(input->dtype(), input->elements());
    elements += input->elements();
  }
  for (const auto& output : inferred.outputs) {
    output_shapes.push_back(output.shape);
    if (!output.set) continue;
    after += StorageBytes(output.dtype, output.shape.elements());
    elements += output.shape.elements();
  }
  // Of a window nothing else is read.
  if (node.op == "Slice"_op && inputs[0] != nullptr && 2 * after <= Bytes(*inputs[0]))
    return output_shapes[0].elements() <= kMostFoldedElements;
  const int64_t large = node.op == "Resize"_op              ? kLargeResizedBytes
                        : op.Has(ir::Trait::kMovesElements) ? kLargeMovedBytes
                                                            : kLargeComputedBytes;
  if (after > large && after > kLargestGrowth * before) return false;
  const bool shrinks = after * kShrinks <= read;
  if (elements > (shrinks ? 4 : 1) * kMostFoldedElements) return false;
  return op.macs == nullptr || op.macs(node, input_shapes, output_shapes) <= kMostMacs;
}

}  // namespace

std::optional<std::vector<Constant>> FoldNode(const ir::Node& node, const Inputs& inputs,
                                              const ops::Inferred& inferred) {
  const ops::Operator& op = ops::OperatorOf(node);
  if (op.Has(ir::Trait::kRandom) || op.Has(ir::Trait::kControl) ||
      node.op == "DequantizeLinear"_op || node.outputs.empty()) {
    return std::nullopt;
  }
  if (node.outputs.size() == 1 && inferred.outputs[0].set) {
    // The bytes are shared, wherever they are.
    if (op.Has(ir::Trait::kKeepsBytes))
      return std::vector{inputs[0]->Reshaped(inferred.outputs[0].shape)};
    if (std::optional<Constant> widened = FoldWidened(node, inputs, inferred.outputs[0]))
      return std::vector<Constant>{*std::move(widened)};
    if (std::optional<Constant> transposed = FoldTransposed(node, inputs))
      return std::vector<Constant>{*std::move(transposed)};
    if (std::optional<Constant> repeated = FoldRepeated(node, op, inputs, inferred.outputs[0]))
      return std::vector<Constant>{*std::move(repeated)};
  }
  if (op.reference == nullptr) return std::nullopt;
  if (!IsWorthFolding(node, op, inputs, inferred)) {
    std::optional<Constant> product = FoldProduct(node, inputs);
    return product ? std::optional(std::vector<Constant>{*std::move(product)}) : std::nullopt;
  }
  if (std::optional<Constant> window = FoldSlice(node, inputs))
    return std::vector<Constant>{*std::move(window)};
  std::vector<Tensor> operands;
  for (const auto& input : inputs) {
    const Result<Tensor> tensor = input == nullptr ? Tensor() : input->ToTensor();
    if (!tensor.ok()) return std::nullopt;
    operands.push_back(*tensor);
  }
  const Result<std::vector<Tensor>> results = ops::Evaluate(node, operands);
  if (!results.ok()) return std::nullopt;
  std::vector<Constant> outputs;
  for (const Tensor& tensor : *results) {
    outputs.push_back(tensor.empty() ? Constant() : Constant::FromTensor(tensor));
  }
  return outputs;
}

bool FoldShape(ir::Graph& graph, const ir::Node& node) {
  if (node.op != "Shape"_op && node.op != "Size"_op) return false;
  const ir::ValueId output = node.output(0);
  if (output == ir::kAbsent || !graph.value(node.inputs[0]).has_concrete_shape()) return false;
  const Shape& shape = *graph.value(node.inputs[0]).shape;
  if (node.op == "Size"_op) {
    SetConstant(graph.value(output), IntsConstant({shape.elements()}).Reshaped(Shape{}));
    return true;
  }
  const auto clamp = [&](int64_t axis) {
    return std::clamp<int64_t>(axis < 0 ? axis + shape.rank() : axis, 0, shape.rank());
  };
  const int64_t begin = clamp(node.attributes.Int("start", 0));
  const int64_t end = clamp(node.attributes.Int("end", shape.rank()));
  std::vector<int64_t> extents;
  for (int64_t axis = begin; axis < end; ++axis) extents.push_back(shape[static_cast<int>(axis)]);
  SetConstant(graph.value(output), IntsConstant(extents));
  return true;
}

bool FoldData(ir::Graph& graph, const ir::Node& node, const ops::Inferred& inferred) {
  std::vector<std::shared_ptr<const Constant>> inputs;
  for (ir::ValueId id : node.inputs)
    inputs.push_back(id == ir::kAbsent ? nullptr : graph.value(id).constant);
  std::optional<std::vector<Constant>> folded = FoldNode(node, inputs, inferred);
  if (!folded) return false;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == ir::kAbsent) continue;
    SetConstant(graph.value(node.outputs[i]), std::move((*folded)[i]));
  }
  return true;
}

}  // namespace fettle::passes
