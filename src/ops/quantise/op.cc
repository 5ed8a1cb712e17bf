#include "ops/quantise/op.h"

#include "ops/host_ints.h"
#include "ops/infer.h"
#include "ops/op.h"
#include "ops/quantise/onnx.h"

namespace fettle::ops {

Status QuantizeReference(const RefContext& context, const Region& region);
Status DequantizeReference(const RefContext& context, const Region& region);
Status DynamicQuantizeReference(const RefContext& context, const Region& region);
Status TableLookupReference(const RefContext& context, const Region& region);
Status InferBlockMatMul(InferContext& context);
Status BlockMatMulReference(const RefContext& context, const Region& region);
int64_t BlockMatMulMacs(const ir::Node& node, std::span<const Shape> inputs,
                        std::span<const Shape> outputs);
Status InferExpertMatMul(InferContext& context);
Status ExpertMatMulReference(const RefContext& context, const Region& region);
int64_t ExpertMatMulMacs(const ir::Node& node, std::span<const Shape> inputs,
                         std::span<const Shape> outputs);

namespace {

constexpr TypeSet kQuantisedTypes = TypeBit(DType::kI8) | TypeBit(DType::kU8) |
                                    TypeBit(DType::kI16) | TypeBit(DType::kU16) | kInt4Types |
                                    kFloat8Types;

Status CheckScales(const InferContext& context) {
  RETURN_IF_ERROR(CheckType(context, 1, kFloatTypes));
  if (context.has_input(2) && context.shape(2).elements() != context.shape(1).elements()) {
    return InvalidModel("zero points {} and scales {} differ", context.shape(2).ToString(),
                        context.shape(1).ToString());
  }
  return ReadQuantAxis(context.node(), context.shape(0), context.shape(1)).status();
}

/// The type of attribute 'output_dtype', or `fallback` without one.
Result<DType> OutputType(const InferContext& context, DType fallback, TypeSet allowed) {
  const std::string name = context.attributes().Text("output_dtype");
  if (name.empty()) return fallback;
  const auto dtype = DTypeFromName(name);
  if (!dtype || !(allowed & TypeBit(*dtype)))
    return InvalidModel("attribute 'output_dtype': expected {}, got '{}'", TypeSetName(allowed),
                        name);
  return *dtype;
}

Status InferQuantize(InferContext& context) {
  RETURN_IF_ERROR(CheckType(context, 0, kFloatTypes | TypeBit(DType::kI32)));
  RETURN_IF_ERROR(CheckType(context, 2, kQuantisedTypes));
  RETURN_IF_ERROR(CheckScales(context));
  const DType zero_type = context.has_input(2) ? context.dtype(2) : DType::kU8;
  ASSIGN_OR_RETURN(const DType dtype, OutputType(context, zero_type, kQuantisedTypes));
  if (context.has_input(2) && dtype != zero_type)
    return InvalidModel("attribute 'output_dtype' {} differs from the zero point's type {}",
                        DTypeName(dtype), DTypeName(zero_type));
  context.SetOutput(0, dtype, context.shape(0));
  return OkStatus();
}

Status InferDequantize(InferContext& context) {
  RETURN_IF_ERROR(CheckType(context, 0, kQuantisedTypes | TypeBit(DType::kI32)));
  RETURN_IF_ERROR(CheckScales(context));
  if (context.has_input(2) && context.dtype(2) != context.dtype(0))
    return InvalidModel("zero point has the type {}, expected {}", DTypeName(context.dtype(2)),
                        DTypeName(context.dtype(0)));
  ASSIGN_OR_RETURN(const DType dtype, OutputType(context, context.dtype(1), kFloatTypes));
  context.SetOutput(0, dtype, context.shape(0));
  return OkStatus();
}

Status InferDynamicQuantize(InferContext& context) {
  RETURN_IF_ERROR(CheckType(context, 0, TypeBit(DType::kF32)));
  context.SetOutput(0, DType::kU8, context.shape(0));
  context.SetOutput(1, DType::kF32, Shape());
  context.SetOutput(2, DType::kU8, Shape());
  return OkStatus();
}

/// TableLookup: y = table[x], by the bits of x as a u8. No model has it; passes make it.
Status InferTableLookup(InferContext& context) {
  constexpr TypeSet kByteTypes = TypeBit(DType::kI8) | TypeBit(DType::kU8);
  RETURN_IF_ERROR(CheckType(context, 0, kByteTypes));
  RETURN_IF_ERROR(CheckType(context, 1, kByteTypes));
  if (context.shape(1) != Shape{256})
    return InvalidModel("expected a table of 256 bytes, got {}", context.shape(1).ToString());
  context.SetOutput(0, context.dtype(1), context.shape(0));
  return OkStatus();
}

constexpr std::string_view kQuantised = "i8, u8, i16, u16, 4-bit integers, 8-bit floats";

}  // namespace

int64_t QuantAxis::ScaleOffset(std::span<const int64_t> coordinate,
                               std::span<const int64_t> strides) const {
  const size_t a = axis;
  if (kind == Kind::kTensor) return 0;
  if (kind == Kind::kAxis) return coordinate[a] * strides[0];
  int64_t offset = 0;
  for (size_t i = 0; i < coordinate.size(); ++i)
    offset += (i == a ? coordinate[i] / block : coordinate[i]) * strides[i];
  return offset;
}

Result<QuantAxis> ReadQuantAxis(const ir::Node& node, const Shape& x, const Shape& scale) {
  QuantAxis quant;
  quant.block = node.attributes.Int("block_size", 0);
  if (quant.block == 0 && scale.elements() == 1) return quant;
  ASSIGN_OR_RETURN(quant.axis, ReadAxis(node.attributes.Int("axis", 1), x.rank()));
  if (quant.block == 0) {
    quant.kind = QuantAxis::Kind::kAxis;
    if (scale != Shape{x[quant.axis]})
      return InvalidModel("scales {} do not fit axis {} of {}", scale.ToString(), quant.axis,
                          x.ToString());
    return quant;
  }
  quant.kind = QuantAxis::Kind::kBlocked;
  if (quant.block < 1) return InvalidModel("attribute 'block_size': got {}", quant.block);
  Shape expected = x;
  expected[quant.axis] = x[quant.axis] == 0 ? 0 : (x[quant.axis] - 1) / quant.block + 1;
  if (scale != expected)
    return InvalidModel("scales {} do not fit blocks of {} along axis {} of {}", scale.ToString(),
                        quant.block, quant.axis, x.ToString());
  return quant;
}

QuantRange RangeOf(DType dtype) {
  switch (dtype) {
    case DType::kI4: return {-8, 7};
    case DType::kU4: return {0, 15};
    case DType::kI8: return {-128, 127};
    case DType::kI16: return {-32768, 32767};
    case DType::kU16: return {0, 65535};
    default: return {0, 255};
  }
}

std::span<const Operator> QuantiseOps() {
  static const Operator kOps[] = {
      {{.name = "BlockMatMul", .traits = {Trait::kTakesEpilogue}, .min_inputs = 4, .max_inputs = 4},
       {.infer = InferBlockMatMul,
        .reference = BlockMatMulReference,
        .macs = BlockMatMulMacs,
        .types = "f32 by u4, u8"}},
      {{.name = "DequantizeLinear",
        .traits = {Trait::kPointwise, Trait::kTakesEpilogue, Trait::kQuantises},
        .min_inputs = 2,
        .max_inputs = 3},
       {.infer = InferDequantize,
        .reference = DequantizeReference,
        .imports = QuantiseImports("DequantizeLinear"),
        .types = kQuantised,
        .refused = "MatMulNBits of widths besides 2, 4 and 8: rare"}},
      {{.name = "DynamicQuantizeLinear",
        .traits = {Trait::kQuantises, Trait::kWholeOutput},
        .max_outputs = 3},
       {.infer = InferDynamicQuantize,
        .reference = DynamicQuantizeReference,
        .imports = QuantiseImports("DynamicQuantizeLinear"),
        .types = "f32"}},
      {{.name = "ExpertMatMul", .min_inputs = 2, .max_inputs = 6},
       {.infer = InferExpertMatMul,
        .reference = ExpertMatMulReference,
        .macs = ExpertMatMulMacs,
        .types = "f32 by f32, u4, u8"}},
      {{.name = "QuantizeLinear",
        .traits = {Trait::kPointwise, Trait::kQuantises},
        .min_inputs = 2,
        .max_inputs = 3},
       {.infer = InferQuantize,
        .reference = QuantizeReference,
        .imports = QuantiseImports("QuantizeLinear"),
        .types = kQuantised,
        .refused = "saturate = 0: 8-bit floats always saturate here"}},
      {{.name = "TableLookup", .traits = {Trait::kPointwise}, .min_inputs = 2, .max_inputs = 2},
       {.infer = InferTableLookup, .reference = TableLookupReference, .types = "i8, u8"}},
  };
  return kOps;
}

}  // namespace fettle::ops
