#include "ops/matmul/experts.h"

#include <cstring>
#include <vector>

#include "ops/quantise/onnx.h"

namespace fettle::ops {
namespace {

/// Weights [experts, outputs, inputs] of few bits with what scales them.
struct ExpertCodes {
  int64_t outputs = 0, inputs = 0, block = 0;
  Constant packed, scales;
  std::vector<uint8_t> zeros;  // as scales
  int64_t blocks() const { return (inputs + block - 1) / block; }
};

/// Zero points, packed along the blocks of an output, or along the outputs where those have one.
Result<std::vector<uint8_t>> ReadZeros(const ImportContext& context, const ExpertSizes& sizes,
                                       const ExpertLayer& layer, const ExpertCodes& codes) {
  const int64_t blocks = codes.blocks(), per = 8 / sizes.bits;
  std::vector<uint8_t> zeros(sizes.experts * codes.outputs * blocks,
                             static_cast<uint8_t>(1 << (sizes.bits - 1)));
  if (!context.has_input(layer.zeros)) return zeros;
  ASSIGN_OR_RETURN(const Constant packed, ConstantAt(context, layer.zeros, "zero points"));
  const int64_t row_bytes = (blocks + per - 1) / per;
  const bool by_rows = packed.elements() == sizes.experts * codes.outputs * row_bytes;
  const int64_t outer = by_rows ? sizes.experts * codes.outputs : sizes.experts;
  const int64_t inner = by_rows ? blocks : codes.outputs, bytes = (inner + per - 1) / per;
  if (packed.dtype() != DType::kU8 || packed.elements() != outer * bytes ||
      (!by_rows && blocks != 1))
    return InvalidModel("zero points {} do not fit {} experts of {} outputs of {} blocks",
                        packed.shape().ToString(), sizes.experts, codes.outputs, blocks);
  for (int64_t row = 0; row < outer; ++row) {
    for (int64_t i = 0; i < inner; ++i) {
      const auto byte = static_cast<unsigned>(packed.GetInt(row * bytes + i / per));
      zeros[row * inner + i] =
          static_cast<uint8_t>(byte >> (i % per * sizes.bits) & ((1U << sizes.bits) - 1));
    }
  }
  return zeros;
}

Result<ExpertCodes> ReadCodes(const ImportContext& context, const ExpertSizes& sizes,
                              const ExpertLayer& layer, int64_t outputs, int64_t inputs) {
  ExpertCodes codes;
  codes.outputs = outputs;
  codes.inputs = inputs;
  codes.block = sizes.block == 0 ? inputs : sizes.block;
  ASSIGN_OR_RETURN(codes.packed, ConstantAt(context, layer.weights, "weights"));
  ASSIGN_OR_RETURN(codes.scales, ConstantAt(context, layer.scales, "scales"));
  if (codes.packed.dtype() != DType::kU8)
    return InvalidModel("weights of {} bits are stored in uint8, not in {}", sizes.bits,
                        DTypeName(codes.packed.dtype()));
  if (inputs * sizes.bits % 8 != 0 ||
      codes.packed.shape() != Shape{sizes.experts, outputs, inputs * sizes.bits / 8})
    return InvalidModel("weights {} are not [{}, {}, {}] of {} bits",
                        codes.packed.shape().ToString(), sizes.experts, outputs, inputs,
                        sizes.bits);
  if (!IsFloat(codes.scales.dtype()) ||
      codes.scales.elements() != sizes.experts * outputs * codes.blocks())
    return InvalidModel("{} scales, expected {} of {} outputs of {} blocks",
                        codes.scales.elements(), sizes.experts, outputs, codes.blocks());
  ASSIGN_OR_RETURN(codes.zeros, ReadZeros(context, sizes, layer, codes));
  return codes;
}

/// DequantizeLinear of `weights` [depth, columns]; `place` is where the scale of an expert's output
/// and block lies in [blocks of the depth, columns].
template <typename Place>
Result<ir::ValueId> EmitDequantised(ImportContext& context, const ExpertCodes& codes,
                                    Constant weights, Place place) {
  const int64_t blocks = codes.blocks(), count = codes.scales.elements();
  const Shape shape = {count / weights.shape()[1], weights.shape()[1]};
  ASSIGN_OR_RETURN(Tensor scales, Tensor::Create(codes.scales.dtype(), shape));
  ASSIGN_OR_RETURN(Tensor zeros, Tensor::Create(weights.dtype(), shape));
  const HostView to = scales.view(), zero_to = zeros.view();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = place(i / blocks / codes.outputs, i / blocks % codes.outputs, i % blocks);
    to.SetDouble(at, codes.scales.GetDouble(i));
    zero_to.SetInt(at, codes.zeros[i]);
  }
  return context.Emit1(
      "DequantizeLinear",
      {context.Const(std::move(weights)), context.Const(Constant::FromTensor(scales)),
       context.Const(Constant::FromTensor(zeros))},
      {{"axis", int64_t{0}}, {"block_size", codes.block}});
}

DType CodeType(const ExpertSizes& sizes) { return sizes.bits == 8 ? DType::kU8 : DType::kU4; }

Result<Constant> ExpertFloats(const ImportContext& context, const ExpertSizes& sizes,
                              const ExpertLayer& layer, int64_t outputs, int64_t inputs) {
  ASSIGN_OR_RETURN(Constant weights, ConstantAt(context, layer.weights, "weights"));
  if (weights.shape() != Shape{sizes.experts, outputs, inputs})
    return InvalidModel("weights {}, expected {}", weights.shape().ToString(),
                        Shape{sizes.experts, outputs, inputs}.ToString());
  return weights;
}

}  // namespace

Result<Constant> ConstantAt(const ImportContext& context, size_t i, std::string_view name) {
  const Constant* constant = context.constant(i);
  if (constant == nullptr) return Unsupported("{} of experts must be constants", name);
  return *constant;
}

Result<ir::ValueId> EmitInto(ImportContext& context, const ExpertSizes& sizes,
                             const ExpertLayer& layer, ir::ValueId rows, int64_t outputs) {
  const int64_t columns = sizes.experts * outputs;
  ir::ValueId y = ir::kAbsent;
  if (sizes.bits == 0) {
    ASSIGN_OR_RETURN(const Constant weights,
                     ExpertFloats(context, sizes, layer, outputs, sizes.hidden));
    const ir::ValueId w = context.Const(weights.Reshaped(Shape{columns, sizes.hidden}));
    y = context.Emit1("Gemm", {rows, w}, {{"transB", int64_t{1}}});
  } else {
    ASSIGN_OR_RETURN(const ExpertCodes codes,
                     ReadCodes(context, sizes, layer, outputs, sizes.hidden));
    ASSIGN_OR_RETURN(Constant weights,
                     UnpackBits(codes.packed, CodeType(sizes),
                                {columns, sizes.hidden, sizes.hidden * sizes.bits / 8,
                                 static_cast<int>(sizes.bits)},
                                true));
    const auto place = [&](int64_t e, int64_t output, int64_t block) {
      return block * columns + e * outputs + output;
    };
    ASSIGN_OR_RETURN(const ir::ValueId w,
                     EmitDequantised(context, codes, std::move(weights), place));
    y = context.Emit1("MatMul", {rows, w});
  }
  if (!context.has_input(layer.bias)) return y;
  ASSIGN_OR_RETURN(const Constant bias, ConstantAt(context, layer.bias, "biases"));
  if (bias.elements() != columns)
    return InvalidModel("{} biases, expected {}", bias.elements(), columns);
  return context.Emit1("Add", {y, context.Const(bias.Reshaped(Shape{columns}))});
}

Result<ir::ValueId> EmitOutOf(ImportContext& context, const ExpertSizes& sizes,
                              const ExpertLayer& layer, ir::ValueId rows) {
  const int64_t e = sizes.experts, depth = e * sizes.inter;
  if (sizes.bits == 0) {
    ASSIGN_OR_RETURN(Constant weights,
                     ExpertFloats(context, sizes, layer, sizes.hidden, sizes.inter));
    const ir::ValueId turned = context.Emit1("Transpose", {context.Const(std::move(weights))},
                                             {{"perm", std::vector<int64_t>{0, 2, 1}}});
    return context.Emit1(
        "MatMul", {rows, context.Emit1("Reshape", {turned, context.ConstInts({depth, -1})})});
  }
  ASSIGN_OR_RETURN(const ExpertCodes codes,
                   ReadCodes(context, sizes, layer, sizes.hidden, sizes.inter));
  if (sizes.inter % codes.block != 0)
    return Unsupported("blocks of {} that do not divide {} inputs", codes.block, sizes.inter);
  // [experts, hidden, bytes] as [hidden, experts, bytes]: an output's inputs from all experts.
  const int64_t bytes = sizes.inter * sizes.bits / 8;
  ASSIGN_OR_RETURN(const Tensor from, codes.packed.ToTensor());
  ASSIGN_OR_RETURN(Tensor to, Tensor::Create(DType::kU8, Shape{sizes.hidden, e, bytes}));
  for (int64_t i = 0; i < e * sizes.hidden; ++i) {
    std::memcpy(to.data() + (i % sizes.hidden * e + i / sizes.hidden) * bytes,
                from.data() + i * bytes, bytes);
  }
  ASSIGN_OR_RETURN(
      Constant weights,
      UnpackBits(Constant::FromTensor(to), CodeType(sizes),
                 {sizes.hidden, depth, e * bytes, static_cast<int>(sizes.bits)}, true));
  const int64_t blocks = codes.blocks();
  const auto place = [&](int64_t expert, int64_t output, int64_t block) {
    return (expert * blocks + block) * sizes.hidden + output;
  };
  ASSIGN_OR_RETURN(const ir::ValueId w, EmitDequantised(context, codes, std::move(weights), place));
  return context.Emit1("MatMul", {rows, w});
}

}  // namespace fettle::ops
