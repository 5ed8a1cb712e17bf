#include "ops/quantise/weight_only.h"

#include <algorithm>

#include "ops/op.h"
#include "ops/quantise/op.h"

namespace fettle::ops {
namespace {

bool IsConstantOrAbsent(const ir::Graph& graph, ir::ValueId id) {
  return id == ir::kAbsent || graph.value(id).is_constant();
}

Status CheckProduct(const ir::Graph& graph, const ir::Node& dequantiser, const ir::Node& product) {
  if (product.op != "MatMul"_op && product.op != "Gemm"_op)
    return Unsupported("computes products of dequantised weights only");
  const ir::ValueId a = product.input(0), b = product.input(1);
  if (dequantiser.op != "DequantizeLinear"_op || b != dequantiser.output(0) || a == b)
    return Unsupported("the right operand is not dequantised");
  if (graph.value(a).is_constant()) return Unsupported("the left operand is constant");
  if (graph.value(a).shape && graph.value(a).shape->rank() < 2)
    return Unsupported("the left operand is a vector");
  if (product.attributes.Float("alpha", 1) != 1 || product.attributes.Int("transA") != 0)
    return Unsupported("a scaled or transposed left operand");
  return OkStatus();
}

/// What Gemm adds must be a constant row.
Status CheckAddend(const ir::Graph& graph, const ir::Node& product, int64_t n) {
  const ir::ValueId c = product.input(2);
  if (product.op != "Gemm"_op || c == ir::kAbsent) return OkStatus();
  if (!graph.value(c).is_constant()) return Unsupported("a computed addend");
  const Shape& shape = graph.value(c).constant->shape();
  if ((shape.elements() != 1 && shape.elements() != n) || (shape.rank() == 2 && shape[0] != 1))
    return Unsupported("an addend that is not a row");
  return OkStatus();
}

Status CheckWeights(const ir::Graph& graph, const ir::Node& dequantiser) {
  for (ir::ValueId id : dequantiser.inputs)
    if (!IsConstantOrAbsent(graph, id)) return Unsupported("weights or scales are computed");
  const DType dtype = graph.value(dequantiser.input(0)).constant->dtype();
  if (dtype != DType::kI4 && dtype != DType::kU4 && dtype != DType::kI8 && dtype != DType::kU8)
    return Unsupported("weights of {}", DTypeName(dtype));
  if (graph.value(dequantiser.input(0)).constant->shape().rank() != 2)
    return Unsupported("weights that are not a matrix");
  const DType scales = graph.value(dequantiser.input(1)).constant->dtype();
  if (scales == DType::kF64 || !dequantiser.attributes.Text("output_dtype").empty())
    return Unsupported("scales of {} or a result of another type", DTypeName(scales));
  return OkStatus();
}

}  // namespace

Result<WeightOnly> ReadWeightOnly(const ir::Graph& graph, const ir::Node& dequantiser,
                                  const ir::Node& product) {
  RETURN_IF_ERROR(CheckProduct(graph, dequantiser, product));
  RETURN_IF_ERROR(CheckWeights(graph, dequantiser));
  WeightOnly read;
  read.weights = dequantiser.input(0);
  read.scales = dequantiser.input(1);
  read.zeros = dequantiser.input(2);
  read.by_columns = product.op == "Gemm"_op && product.attributes.Int("transB") != 0;
  const Shape& w = graph.value(read.weights).constant->shape();
  const Shape& scales = graph.value(read.scales).constant->shape();
  read.bits = dequantiser.attributes.Int("bits") == 2 ? 2 : 0;
  read.k = w[read.by_columns ? 1 : 0];
  read.n = w[read.by_columns ? 0 : 1];
  if (read.k == 0 || read.n == 0) return Unsupported("an empty operand");
  RETURN_IF_ERROR(CheckAddend(graph, product, read.n));
  ASSIGN_OR_RETURN(const QuantAxis quant, ReadQuantAxis(dequantiser, w, scales));
  const int depth_axis = read.by_columns ? 1 : 0;
  if (quant.kind != QuantAxis::Kind::kTensor &&
      (quant.axis == depth_axis) != (quant.kind == QuantAxis::Kind::kBlocked)) {
    return Unsupported("scales along another axis");
  }
  read.block = quant.kind == QuantAxis::Kind::kBlocked ? std::min(quant.block, read.k) : read.k;
  return read;
}

}  // namespace fettle::ops
