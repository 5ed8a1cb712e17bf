#include "ops/conv/op.h"

#include <algorithm>

#include "ops/extent_rule.h"
#include "ops/op.h"

namespace fettle::ops {
namespace {

Result<Shape> ConvOutput(const ConvAttributes& conv, const Shape& x, const Shape& w) {
  Dims out = {x[0], w[0]};
  for (int i = 0; i < conv.spatial_rank(); ++i) {
    const int64_t extent = ConvOutputExtent(conv, i, x[i + 2]);
    if (extent < 1)
      return InvalidModel("the kernel {} does not fit the input {}", w.ToString(), x.ToString());
    out.push_back(extent);
  }
  return Shape(out);
}

Status CheckBias(const InferContext& context, int input, int64_t channels) {
  if (context.has_input(input) && context.shape(input) != Shape{channels}) {
    return InvalidModel("bias has shape {}, expected {}", context.shape(input).ToString(),
                        channels);
  }
  return OkStatus();
}

Status InferConv(InferContext& context) {
  const Shape &x = context.shape(0), &w = context.shape(1);
  ASSIGN_OR_RETURN(const ConvAttributes conv, ReadConv(context.node(), x, w));
  if (!IsFloat(context.dtype(0)) || context.dtype(1) != context.dtype(0)) {
    return InvalidModel("expected input and weights of one float type, got {} and {}",
                        DTypeName(context.dtype(0)), DTypeName(context.dtype(1)));
  }
  RETURN_IF_ERROR(CheckBias(context, 2, w[0]));
  ASSIGN_OR_RETURN(Shape out, ConvOutput(conv, x, w));
  context.SetOutput(0, context.dtype(0), std::move(out));
  return OkStatus();
}

bool IsByte(DType dtype) { return dtype == DType::kU8 || dtype == DType::kI8; }

Status InferConvInteger(InferContext& context) {
  const Shape &x = context.shape(0), &w = context.shape(1);
  ASSIGN_OR_RETURN(const ConvAttributes conv, ReadConv(context.node(), x, w));
  if (!IsByte(context.dtype(0)) || !IsByte(context.dtype(1))) {
    return InvalidModel("expected 8-bit integers, got {} and {}", DTypeName(context.dtype(0)),
                        DTypeName(context.dtype(1)));
  }
  if (context.has_input(2) && context.shape(2).elements() != 1)
    return InvalidModel("x_zero_point: expected one value, got {}", context.shape(2).ToString());
  if (context.has_input(3) && context.shape(3).elements() != 1 && context.shape(3) != Shape{w[0]}) {
    return InvalidModel("w_zero_point: expected 1 or {} values, got {}", w[0],
                        context.shape(3).ToString());
  }
  ASSIGN_OR_RETURN(Shape out, ConvOutput(conv, x, w));
  context.SetOutput(0, DType::kI32, std::move(out));
  return OkStatus();
}

Status InferDeformConv(InferContext& context) {
  const Shape &x = context.shape(0), &w = context.shape(1), &offset = context.shape(2);
  ASSIGN_OR_RETURN(const DeformConvAttributes conv, ReadDeformConv(context.node(), x, w));
  RETURN_IF_ERROR(CheckBias(context, 3, w[0]));
  ASSIGN_OR_RETURN(Shape out, ConvOutput(conv, x, w));
  const int64_t taps = conv.kernel[0] * conv.kernel[1] * conv.offset_groups;
  if (offset != Shape{x[0], 2 * taps, out[2], out[3]})
    return InvalidModel("offset has the unexpected shape {}", offset.ToString());
  if (context.has_input(4) && context.shape(4) != Shape{x[0], taps, out[2], out[3]})
    return InvalidModel("mask has the unexpected shape {}", context.shape(4).ToString());
  for (int i = 0; i < context.num_inputs(); ++i) {
    if (context.has_input(i) && context.dtype(i) != context.dtype(0))
      return InvalidModel("expected operands of one type");
  }
  context.SetOutput(0, context.dtype(0), std::move(out));
  return OkStatus();
}

/// The weights, the bias and the channels are the same as they were.
class ConvExtents final : public ExtentRule {
 public:
  ConvExtents(ConvAttributes conv, OperandShapes inputs) : conv_(std::move(conv)) {
    channels_ = (*inputs[0])[1];
    for (const Shape* shape : inputs.subspan(1)) constants_.push_back(shape ? *shape : Shape());
  }

  bool At(OperandShapes inputs, Shape& output) const override {
    const Shape& x = *inputs[0];
    for (size_t i = 0; i < constants_.size(); ++i)
      if (inputs[i + 1] != nullptr && *inputs[i + 1] != constants_[i]) return false;
    if (x[1] != channels_) return false;
    output = x;
    output[1] = constants_[0][0];
    for (int i = 0; i < conv_.spatial_rank(); ++i) {
      output[i + 2] = ConvOutputExtent(conv_, i, x[i + 2]);
      if (output[i + 2] < 1) return false;
    }
    return true;
  }

 private:
  ConvAttributes conv_;
  int64_t channels_ = 0;
  std::vector<Shape> constants_;  // inputs 1 and on
};

std::unique_ptr<ExtentRule> MakeConvExtents(const ir::Node& node, OperandShapes inputs) {
  Result<ConvAttributes> conv = ReadConv(node, *inputs[0], *inputs[1]);
  if (!conv.ok()) return nullptr;
  return std::make_unique<ConvExtents>(std::move(*conv), inputs);
}

int64_t ConvMacs(const ir::Node&, std::span<const Shape> inputs, std::span<const Shape> outputs) {
  return outputs[0].elements() * inputs[1].Count(1, inputs[1].rank());
}

}  // namespace

Result<ConvAttributes> ReadConv(const ir::Node& node, const Shape& input, const Shape& weights) {
  if (input.rank() < 3 || weights.rank() != input.rank()) {
    return InvalidModel("expected input and weights of equal rank over 2, got {} and {}",
                        input.ToString(), weights.ToString());
  }
  std::vector<int64_t> kernel(weights.begin() + 2, weights.end());
  const ir::Attribute* const given = node.attributes.Find("kernel_shape");
  const auto* const shape = given == nullptr ? nullptr : std::get_if<std::vector<int64_t>>(given);
  if (shape != nullptr && *shape != kernel)
    return InvalidModel("attribute 'kernel_shape' disagrees with weights {}", weights.ToString());
  ASSIGN_OR_RETURN(Window window, ReadWindow(node.attributes, std::move(kernel), input));
  ConvAttributes conv = {std::move(window), node.attributes.Int("group", 1)};
  if (conv.group < 1 || weights[0] % conv.group != 0 || input[1] % conv.group != 0 ||
      weights[1] != input[1] / conv.group) {
    return InvalidModel("group {} and weights {} do not fit {} input channels", conv.group,
                        weights.ToString(), input[1]);
  }
  return conv;
}

int64_t ConvOutputExtent(const ConvAttributes& conv, int i, int64_t input_extent) {
  return WindowOutputExtent(conv, i, input_extent);
}

Result<DeformConvAttributes> ReadDeformConv(const ir::Node& node, const Shape& input,
                                            const Shape& weights) {
  if (input.rank() != 4)
    return Unsupported("deformable convolution of rank {}; only 2-D", input.rank());
  ASSIGN_OR_RETURN(ConvAttributes conv, ReadConv(node, input, weights));
  const DeformConvAttributes deform = {std::move(conv), node.attributes.Int("offset_group", 1)};
  if (deform.offset_groups < 1 || input[1] % deform.offset_groups != 0) {
    return InvalidModel("attribute 'offset_group': {} does not divide {} channels",
                        deform.offset_groups, input[1]);
  }
  return deform;
}

Status ConvReference(const RefContext& context, const Region& region);
Status ConvIntegerReference(const RefContext& context, const Region& region);
Status DeformConvReference(const RefContext& context, const Region& region);
std::span<const ImportRule> ConvImports();
std::span<const ImportRule> ConvIntegerImports();
std::span<const ImportRule> DeformConvImports();

std::span<const Operator> ConvOps() {
  static const Operator kOps[] = {
      {{.name = "Conv", .traits = {Trait::kTakesEpilogue}, .min_inputs = 2, .max_inputs = 3},
       {.infer = InferConv,
        .reference = ConvReference,
        .macs = ConvMacs,
        .imports = ConvImports()}},
      {{.name = "ConvInteger",
        .traits = {Trait::kTakesEpilogue, Trait::kQuantises},
        .min_inputs = 2,
        .max_inputs = 4},
       {.infer = InferConvInteger,
        .reference = ConvIntegerReference,
        .macs = ConvMacs,
        .imports = ConvIntegerImports(),
        .types = "i8, u8"}},
      {{.name = "DeformConv", .min_inputs = 3, .max_inputs = 5},
       {.infer = InferDeformConv,
        .reference = DeformConvReference,
        .macs = ConvMacs,
        .imports = DeformConvImports(),
        .refused = "1-D and 3-D"}},
  };
  return kOps;
}

std::span<const ExtentRow> ConvExtentRules() {
  static constexpr ExtentRow kRows[] = {{"Conv", MakeConvExtents},
                                        {"ConvInteger", MakeConvExtents}};
  return kRows;
}

}  // namespace fettle::ops
