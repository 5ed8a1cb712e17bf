#include "ops/binary/op.h"

#include <numeric>

#include "ops/infer.h"
#include "ops/op.h"
#include "ops/pool/op.h"

namespace fettle::ops {

Status PackBitsReference(const RefContext& context, const Region& region);
Status BinaryProductReference(const RefContext& context, const Region& region);
Status BinaryMaxPoolReference(const RefContext& context, const Region& region);
std::span<const ImportRule> BinaryImports();

namespace {

constexpr TypeSet kWordType = TypeBit(DType::kU64);

/// [n, c, spatial...] of a tensor of words [n, spatial..., c].
Shape AsImage(const Shape& x) {
  Dims dims(x.begin(), x.end());
  dims.insert(dims.begin() + 1, dims.back());
  dims.pop_back();
  return Shape(dims);
}
Shape AsWords(const Shape& x) {
  Dims dims(x.begin(), x.end());
  dims.push_back(dims[1]);
  dims.erase(dims.begin() + 1);
  return Shape(dims);
}

Status InferPackBits(InferContext& context) {
  RETURN_IF_ERROR(CheckType(context, 0, TypeBit(DType::kF32)));
  const Shape& x = context.shape(0);
  ASSIGN_OR_RETURN(const BitPacking packing, ReadPackBits(context.node(), x));
  Dims dims(x.begin(), x.end());
  dims.erase(dims.begin() + packing.axis);
  dims.push_back(packing.groups * packing.words());
  context.SetOutput(0, DType::kU64, Shape(dims));
  return OkStatus();
}

Status InferBinaryProduct(InferContext& context) {
  RETURN_IF_ERROR(CheckTypes(context, 0, 2, kWordType));
  RETURN_IF_ERROR(CheckType(context, 2, TypeBit(DType::kF32) | TypeBit(DType::kI32)));
  const Shape& x = context.shape(0);
  ASSIGN_OR_RETURN(const BinaryProduct product,
                   ReadBinaryProduct(context.node(), x, context.shape(1)));
  const bool to_bits = context.dtype(2) == DType::kI32;
  if (context.shape(2) != Shape{to_bits ? 2 : 3, product.outputs})
    return InvalidModel("expected {} numbers for each of {} outputs, got {}", to_bits ? 2 : 3,
                        product.outputs, context.shape(2).ToString());
  Dims dims(x.begin(), x.end() - 1);
  if (product.is_conv) dims = {x[0]};
  for (int64_t extent : product.out) dims.push_back(extent);
  dims.push_back(to_bits ? WordsOf(product.outputs) : product.outputs);
  Shape y(dims);
  if (product.is_conv && !to_bits) y = AsImage(y);
  context.SetOutput(0, to_bits ? DType::kU64 : DType::kF32, std::move(y));
  return OkStatus();
}

Status InferBinaryMaxPool(InferContext& context) {
  RETURN_IF_ERROR(CheckType(context, 0, kWordType));
  if (context.shape(0).rank() < 3) return InvalidModel("expected an input of rank 3 or more");
  const Shape x = AsImage(context.shape(0));
  ASSIGN_OR_RETURN(const PoolAttributes pool, ReadPool(context.node(), x));
  Dims dims = {x[0], x[1]};
  dims.insert(dims.end(), pool.output.begin(), pool.output.end());
  context.SetOutput(0, DType::kU64, AsWords(Shape(dims)));
  return OkStatus();
}

/// Of bits: what the operator would multiply.
int64_t BinaryMacs(const ir::Node& node, std::span<const Shape> inputs, std::span<const Shape>) {
  const auto product = ReadBinaryProduct(node, inputs[0], inputs[1]);
  return product.ok() ? product->pixels() * product->outputs * product->taps() * product->channels
                      : 0;
}

}  // namespace

int64_t BinaryProduct::taps() const {
  return std::accumulate(kernel.begin(), kernel.end(), int64_t{1}, std::multiplies<>());
}

Result<BitPacking> ReadPackBits(const ir::Node& node, const Shape& x) {
  BitPacking packing;
  const std::optional<int> axis = NormaliseAxis(node.attributes.Int("axis", 1), x.rank());
  if (x.rank() < 2 || !axis || *axis == 0) return InvalidModel("attribute 'axis': no channels");
  packing.axis = *axis;
  // Words of other channels would be as many, and products of them other numbers.
  if (const int64_t channels = node.attributes.Int("channels", x[*axis]); channels != x[*axis])
    return InvalidModel("{} channels where {} are multiplied", x[*axis], channels);
  packing.groups = node.attributes.Int("group", 1);
  if (packing.groups < 1 || x[packing.axis] % packing.groups != 0)
    return InvalidModel("attribute 'group': {} does not divide {} channels", packing.groups,
                        x[packing.axis]);
  packing.channels = x[packing.axis] / packing.groups;
  packing.low = node.attributes.Float("low");
  packing.high = node.attributes.Float("high");
  packing.invert = node.attributes.Int("invert") != 0;
  return packing;
}

namespace {

/// How the window of a convolution passes over the images.
Status ReadBinaryWindow(const ir::Attributes& attributes, const Shape& x, const Shape& w,
                        BinaryProduct& product) {
  const Shape first = AsImage(x);
  ASSIGN_OR_RETURN(static_cast<Window&>(product),
                   ReadWindow(attributes, {w.begin() + 1, w.end() - 1}, first));
  Dims in, out;
  for (int i = 0; i < product.spatial_rank(); ++i) {
    in.push_back(first[i + 2]);
    out.push_back(WindowOutputExtent(product, i, first[i + 2]));
    if (out.back() < 1)
      return InvalidModel("the kernel {} does not fit the input {}", w.ToString(), x.ToString());
  }
  product.in = Shape(in);
  product.out = Shape(out);
  return OkStatus();
}

}  // namespace

Result<BinaryProduct> ReadBinaryProduct(const ir::Node& node, const Shape& x, const Shape& w) {
  const ir::Attributes& attributes = node.attributes;
  BinaryProduct product;
  product.is_conv = node.op == "BinaryConv"_op;
  const int least = product.is_conv ? 3 : 2;
  if (x.rank() < least || w.rank() != (product.is_conv ? x.rank() : 2))
    return InvalidModel("input {} and weights {} do not fit", x.ToString(), w.ToString());
  product.outputs = w[0];
  product.groups = attributes.Int("group", 1);
  const int64_t channels = attributes.Int("channels");
  if (product.groups < 1 || channels < 1 || channels % product.groups != 0 ||
      product.outputs % product.groups != 0 || (!product.is_conv && product.groups != 1))
    return InvalidModel("{} groups do not fit {} channels and weights {}", product.groups, channels,
                        w.ToString());
  product.channels = channels / product.groups;
  if (w[w.rank() - 1] != product.words() || x[x.rank() - 1] != product.groups * product.words())
    return InvalidModel("{} channels do not fit the words of {} and {}", channels, x.ToString(),
                        w.ToString());
  product.x_zero = attributes.Float("x_zero", -1);
  product.x_one = attributes.Float("x_one", 1);
  product.x_unipolar = attributes.Int("x_unipolar") != 0;
  product.w_unipolar = attributes.Int("w_unipolar") != 0;
  if (!product.is_conv) {
    product.images = x.Count(0, x.rank() - 1);
    return product;
  }
  product.images = x[0];
  if (attributes.Has("pad_bit")) product.pad_bit = attributes.Int("pad_bit") != 0;
  RETURN_IF_ERROR(ReadBinaryWindow(attributes, x, w, product));
  return product;
}

std::span<const Operator> BinaryOps() {
  static const Operator kOps[] = {
      {{.name = "BinaryConv", .traits = {Trait::kTakesEpilogue}, .min_inputs = 3, .max_inputs = 3},
       {.infer = InferBinaryProduct,
        .reference = BinaryProductReference,
        .macs = BinaryMacs,
        .types = "u64 words of bits"}},
      {{.name = "BinaryMatMul",
        .traits = {Trait::kTakesEpilogue},
        .min_inputs = 3,
        .max_inputs = 3},
       {.infer = InferBinaryProduct,
        .reference = BinaryProductReference,
        .macs = BinaryMacs,
        .types = "u64 words of bits"}},
      {{.name = "BinaryMaxPool"},
       {.infer = InferBinaryMaxPool,
        .reference = BinaryMaxPoolReference,
        .types = "u64 words of bits"}},
      {{.name = "PackBits"},
       {.infer = InferPackBits,
        .reference = PackBitsReference,
        .imports = BinaryImports(),
        .types = "f32"}},
  };
  return kOps;
}

}  // namespace fettle::ops
