#include "ops/conv_transpose/op.h"

#include <algorithm>

#include "ops/op.h"

namespace fettle::ops {
namespace {

/// Bounds that keep products of sizes inside of 64 bits.
constexpr int64_t kMaxExtent = int64_t{1} << 32;
constexpr int64_t kMaxGroup = int64_t{1} << 22;

/// Spreads `total` padding over both ends; the odd element goes to the end for SAME_UPPER, to the
/// beginning otherwise (the specification's rule, NOTSET included).
void Distribute(int64_t total, bool upper, int64_t& begin, int64_t& end) {
  total = std::max<int64_t>(total, 0);
  begin = upper ? total / 2 : total - total / 2;
  end = total - begin;
}

/// The spatial part of attribute 'output_shape', which may also name batch and channels; empty
/// where absent.
Result<std::vector<int64_t>> ReadOutputShape(const ir::Attributes& attributes, size_t rank) {
  std::vector<int64_t> shape = attributes.Ints("output_shape");
  if (shape.empty()) return shape;
  if (shape.size() == rank + 2) shape.erase(shape.begin(), shape.begin() + 2);
  RETURN_IF_ERROR(CheckRange("output_shape", shape, rank, 1));
  return shape;
}

Status ResolveOutput(const ir::Attributes& attributes, const Shape& input,
                     ConvTransposeAttributes& conv) {
  const auto rank = conv.kernel.size();
  const std::vector<int64_t> extra = attributes.Ints("output_padding", Dims(rank, 0));
  RETURN_IF_ERROR(CheckRange("output_padding", extra, rank, 0));
  ASSIGN_OR_RETURN(const std::vector<int64_t> asked, ReadOutputShape(attributes, rank));
  const std::string mode = attributes.Text("auto_pad", "NOTSET");
  const bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  for (size_t i = 0; i < rank; ++i) {
    const int axis = static_cast<int>(i);
    const int64_t extent = input[axis + 2];
    if (extent < 1 || extent > kMaxExtent)
      return InvalidModel("cannot enlarge the input {}", input.ToString());
    const int64_t natural = conv.strides[i] * (extent - 1) + extra[i] + conv.Span(axis);
    if (!asked.empty() || same) {
      const int64_t out = asked.empty() ? extent * conv.strides[i] : asked[i];
      Distribute(natural - out, mode == "SAME_UPPER", conv.pad_begin[i], conv.pad_end[i]);
      conv.output.push_back(out);
    } else {
      conv.output.push_back(natural - conv.pad_begin[i] - conv.pad_end[i]);
    }
    if (conv.output[i] < 1)
      return InvalidModel("the output would have the spatial extent {}", conv.output[i]);
  }
  return OkStatus();
}

Status InferConvTranspose(InferContext& context) {
  const Shape &x = context.shape(0), &w = context.shape(1);
  ASSIGN_OR_RETURN(const ConvTransposeAttributes conv, ReadConvTranspose(context.node(), x, w));
  if (!IsFloat(context.dtype(0)) || context.dtype(1) != context.dtype(0)) {
    return InvalidModel("expected input and weights of one float type, got {} and {}",
                        DTypeName(context.dtype(0)), DTypeName(context.dtype(1)));
  }
  const int64_t channels = w[1] * conv.group;
  if (context.has_input(2) && context.shape(2) != Shape{channels}) {
    return InvalidModel("bias has shape {}, expected {}", context.shape(2).ToString(), channels);
  }
  Dims out = {x[0], channels};
  out.insert(out.end(), conv.output.begin(), conv.output.end());
  context.SetOutput(0, context.dtype(0), Shape(out));
  return OkStatus();
}

int64_t ConvTransposeMacs(const ir::Node&, std::span<const Shape> inputs, std::span<const Shape>) {
  return inputs[0].elements() * inputs[1].Count(1, inputs[1].rank());
}

constexpr ImportRule kConvTransposeImports[] = {{.op_type = "ConvTranspose"}};

}  // namespace

Result<ConvTransposeAttributes> ReadConvTranspose(const ir::Node& node, const Shape& input,
                                                  const Shape& weights) {
  if (input.rank() < 3 || weights.rank() != input.rank()) {
    return InvalidModel("expected input and weights of equal rank over 2, got {} and {}",
                        input.ToString(), weights.ToString());
  }
  const std::vector<int64_t> kernel(weights.begin() + 2, weights.end());
  if (node.attributes.Ints("kernel_shape", kernel) != kernel) {
    return InvalidModel("attribute 'kernel_shape' disagrees with weights {}", weights.ToString());
  }
  ASSIGN_OR_RETURN(Window window, ReadWindow(node.attributes, kernel, input));
  ConvTransposeAttributes conv = {std::move(window), node.attributes.Int("group", 1), {}};
  if (conv.group < 1 || conv.group > kMaxGroup || weights[0] != input[1] ||
      input[1] % conv.group != 0) {
    return InvalidModel("group {} and weights {} do not fit {} input channels", conv.group,
                        weights.ToString(), input[1]);
  }
  RETURN_IF_ERROR(ResolveOutput(node.attributes, input, conv));
  return conv;
}

Status ConvTransposeReference(const RefContext& context, const Region& region);

std::span<const Operator> ConvTransposeOps() {
  static const Operator kOps[] = {
      {{.name = "ConvTranspose",
        .traits = {Trait::kTakesEpilogue},
        .min_inputs = 2,
        .max_inputs = 3},
       {.infer = InferConvTranspose,
        .reference = ConvTransposeReference,
        .macs = ConvTransposeMacs,
        .imports = kConvTransposeImports}},
  };
  return kOps;
}

}  // namespace fettle::ops
