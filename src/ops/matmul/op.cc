#include "ops/matmul/op.h"

#include "ops/extent_rule.h"
#include "ops/infer.h"
#include "ops/matmul/onnx.h"
#include "ops/op.h"

namespace fettle::ops {

Status MatMulReference(const RefContext& context, const Region& region);
Status MatMulIntegerReference(const RefContext& context, const Region& region);
Status GemmReference(const RefContext& context, const Region& region);
Status EinsumReference(const RefContext& context, const Region& region);
Status DetReference(const RefContext& context, const Region& region);
Status InverseReference(const RefContext& context, const Region& region);

namespace {

Status InferMatMul(InferContext& context) {
  RETURN_IF_ERROR(CheckTypes(context, 0, 2, kNumericTypes));
  ASSIGN_OR_RETURN(MatMulShape shape, ReadMatMul(context.shape(0), context.shape(1)));
  context.SetOutput(0, context.dtype(0), std::move(shape.output));
  return OkStatus();
}

/// Of matrices, or of several: of two and more axes each.
class MatMulExtents final : public ExtentRule {
 public:
  bool At(OperandShapes inputs, Shape& output) const override {
    const Shape &a = *inputs[0], &b = *inputs[1];
    const int rank = std::max(a.rank(), b.rank());
    if (a[a.rank() - 1] != b[b.rank() - 2]) return false;
    output = a.rank() == rank ? a : b;
    for (int i = 3; i <= rank; ++i) {
      const int64_t of_a = i > a.rank() ? 1 : a[a.rank() - i];
      const int64_t of_b = i > b.rank() ? 1 : b[b.rank() - i];
      if (of_a != of_b && of_a != 1 && of_b != 1) return false;
      output[rank - i] = of_a == 1 ? of_b : of_a;
    }
    output[rank - 2] = a[a.rank() - 2];
    output[rank - 1] = b[b.rank() - 1];
    return true;
  }
};

std::unique_ptr<ExtentRule> MakeMatMulExtents(const ir::Node&, OperandShapes inputs) {
  if (inputs[0]->rank() < 2 || inputs[1]->rank() < 2) return nullptr;
  return std::make_unique<MatMulExtents>();
}

constexpr TypeSet kByteTypes = TypeBit(DType::kI8) | TypeBit(DType::kU8);

Status InferMatMulInteger(InferContext& context) {
  RETURN_IF_ERROR(CheckType(context, 0, kByteTypes));
  RETURN_IF_ERROR(CheckType(context, 1, kByteTypes));
  ASSIGN_OR_RETURN(MatMulShape shape, ReadMatMul(context.shape(0), context.shape(1)));
  for (int i = 2; i < 4; ++i) {
    if (!context.has_input(i)) continue;
    const int64_t extent = i == 2 ? shape.m : shape.n;
    const int64_t points = context.shape(i).elements();
    if (context.dtype(i) != context.dtype(i - 2))
      return InvalidModel("input {} has the type {}, expected {}", i, DTypeName(context.dtype(i)),
                          DTypeName(context.dtype(i - 2)));
    if (points != 1 && (context.shape(i).rank() != 1 || points != extent))
      return InvalidModel("zero points {} of input {}: expected 1 or {}",
                          context.shape(i).ToString(), i, extent);
  }
  context.SetOutput(0, DType::kI32, std::move(shape.output));
  return OkStatus();
}

Status InferGemm(InferContext& context) {
  RETURN_IF_ERROR(CheckTypes(context, 0, 3, kNumericTypes));
  ASSIGN_OR_RETURN(const GemmAttributes gemm,
                   ReadGemm(context.node(), context.shape(0), context.shape(1)));
  const Shape output = {gemm.m, gemm.n};
  if (context.has_input(2) && BroadcastShapes(context.shape(2), output) != output) {
    return InvalidModel("C {} does not broadcast to {}", context.shape(2).ToString(),
                        output.ToString());
  }
  context.SetOutput(0, context.dtype(0), output);
  return OkStatus();
}

Status InferEinsum(InferContext& context) {
  RETURN_IF_ERROR(CheckTypes(context, 0, context.num_inputs(), kNumericTypes));
  std::vector<Shape> shapes;
  for (int i = 0; i < context.num_inputs(); ++i) shapes.push_back(context.shape(i));
  ASSIGN_OR_RETURN(const Einsum einsum, ReadEinsum(context.attributes().Text("equation"), shapes));
  context.SetOutput(0, context.dtype(0), einsum.Output());
  return OkStatus();
}

Status InferDet(InferContext& context) {
  RETURN_IF_ERROR(CheckType(context, 0, kFloatTypes));
  const Shape& x = context.shape(0);
  if (x.rank() < 2 || x[x.rank() - 1] != x[x.rank() - 2])
    return InvalidModel("expected square matrices, got {}", x.ToString());
  context.SetOutput(0, context.dtype(0), Shape(Dims(x.begin(), x.end() - 2)));
  return OkStatus();
}

Status InferInverse(InferContext& context) {
  RETURN_IF_ERROR(CheckType(context, 0, kFloatTypes));
  const Shape& x = context.shape(0);
  if (x.rank() < 2 || x[x.rank() - 1] != x[x.rank() - 2])
    return InvalidModel("expected square matrices, got {}", x.ToString());
  context.SetOutput(0, context.dtype(0), x);
  return OkStatus();
}

int64_t MatMulMacs(const ir::Node&, std::span<const Shape> inputs, std::span<const Shape> outputs) {
  const Shape& a = inputs[0];
  return outputs[0].elements() * a[a.rank() - 1];
}

int64_t GemmMacs(const ir::Node& node, std::span<const Shape> inputs,
                 std::span<const Shape> outputs) {
  return outputs[0].elements() * inputs[0][node.attributes.Int("transA") != 0 ? 0 : 1];
}

int64_t EinsumMacs(const ir::Node& node, std::span<const Shape> inputs, std::span<const Shape>) {
  const Result<Einsum> einsum = ReadEinsum(node.attributes.Text("equation"),
                                           std::vector<Shape>(inputs.begin(), inputs.end()));
  return einsum.ok() ? Shape(einsum->extents).elements() : 0;
}

}  // namespace

Result<MatMulShape> ReadMatMul(const Shape& a, const Shape& b) {
  if (a.rank() < 1 || b.rank() < 1) return InvalidModel("a scalar cannot be an operand of MatMul");
  MatMulShape shape;
  shape.vector_a = a.rank() == 1;
  shape.vector_b = b.rank() == 1;
  shape.m = shape.vector_a ? 1 : a[a.rank() - 2];
  shape.k = a[a.rank() - 1];
  shape.n = shape.vector_b ? 1 : b[b.rank() - 1];
  const int64_t b_rows = b[shape.vector_b ? 0 : b.rank() - 2];
  const auto batch = [](const Shape& s, bool vector) {
    return vector ? Shape() : Shape(Dims(s.begin(), s.end() - 2));
  };
  const auto broadcast = BroadcastShapes(batch(a, shape.vector_a), batch(b, shape.vector_b));
  if (shape.k != b_rows || !broadcast)
    return InvalidModel("matrices {} and {} do not multiply", a.ToString(), b.ToString());
  shape.batch = *broadcast;
  Dims output = shape.batch.dims();
  if (!shape.vector_a) output.push_back(shape.m);
  if (!shape.vector_b) output.push_back(shape.n);
  shape.output = Shape(output);
  return shape;
}

Result<GemmAttributes> ReadGemm(const ir::Node& node, const Shape& a, const Shape& b) {
  if (a.rank() != 2 || b.rank() != 2)
    return InvalidModel("expected two matrices, got {} and {}", a.ToString(), b.ToString());
  GemmAttributes gemm;
  gemm.alpha = node.attributes.Float("alpha", 1);
  gemm.beta = node.attributes.Float("beta", 1);
  gemm.trans_a = node.attributes.Int("transA") != 0;
  gemm.trans_b = node.attributes.Int("transB") != 0;
  gemm.m = a[gemm.trans_a ? 1 : 0];
  gemm.k = a[gemm.trans_a ? 0 : 1];
  gemm.n = b[gemm.trans_b ? 0 : 1];
  if (gemm.k != b[gemm.trans_b ? 1 : 0])
    return InvalidModel("matrices {} and {} do not multiply", a.ToString(), b.ToString());
  return gemm;
}

std::span<const Operator> MatMulOps() {
  static const Operator kOps[] = {
      {{.name = "Det"},
       {.infer = InferDet, .reference = DetReference, .imports = MatMulImports("Det")}},
      {{.name = "Einsum", .max_inputs = -1},
       {.infer = InferEinsum,
        .reference = EinsumReference,
        .macs = EinsumMacs,
        .imports = MatMulImports("Einsum"),
        .types = "floats, integers"}},
      {{.name = "Gemm", .traits = {Trait::kTakesEpilogue}, .min_inputs = 2, .max_inputs = 3},
       {.infer = InferGemm,
        .reference = GemmReference,
        .macs = GemmMacs,
        .imports = MatMulImports("Gemm"),
        .types = "floats, integers"}},
      {{.name = "Inverse", .traits = {Trait::kWholeOutput}},
       {.infer = InferInverse, .reference = InverseReference, .imports = MatMulImports("Inverse")}},
      {{.name = "MatMul", .traits = {Trait::kTakesEpilogue}, .min_inputs = 2, .max_inputs = 2},
       {.infer = InferMatMul,
        .reference = MatMulReference,
        .macs = MatMulMacs,
        .imports = MatMulImports("MatMul"),
        .types = "floats, integers",
        .refused =
            "MoE and QMoE, whose experts are all computed, with use_sparse_mixer or swiglu_fusion "
            "2; MatMulBnb4 with transB 0"}},
      {{.name = "MatMulInteger",
        .traits = {Trait::kTakesEpilogue, Trait::kQuantises},
        .min_inputs = 2,
        .max_inputs = 4},
       {.infer = InferMatMulInteger,
        .reference = MatMulIntegerReference,
        .macs = MatMulMacs,
        .imports = MatMulImports("MatMulInteger"),
        .types = "i8, u8",
        .refused = "zero points of rank 2 and more: no exporter writes them"}},
  };
  return kOps;
}

std::span<const ExtentRow> MatMulExtentRules() {
  static constexpr ExtentRow kRows[] = {{"MatMul", MakeMatMulExtents}};
  return kRows;
}

}  // namespace fettle::ops
