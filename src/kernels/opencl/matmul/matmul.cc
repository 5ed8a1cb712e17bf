// MatMul and Gemm over row-major buffers, with an epilogue. A constant B is packed as [k, n].
//   opencl.matmul.registers  tiles in registers (gemm/registers.cl)
//   opencl.matmul.local      tiles in local memory (gemm/local.cl)
//   opencl.matmul.vector     one row or one column (gemm/vector_rows.cl, gemm/vector_columns.cl)
// The first two also compute in f16 (opencl.matmul.registers.f16, opencl.matmul.local.f16); the
// time of the third is that of reading the matrix.
#include <algorithm>
#include <optional>

#include "kernels/match/product.h"
#include "kernels/opencl/expression/expression.h"
#include "kernels/opencl/gemm/tiles.h"
#include "kernels/opencl/gemm/vectors.h"
#include "kernels/opencl/matmul/prepare.h"
#include "kernels/opencl/states.h"

namespace fettle::kernels {
namespace {

/// How the matrices of an operand follow each other over the output's; nothing where axes in the
/// middle are repeated.
std::optional<GemmShape::Matrices> MatricesOf(const Product& product,
                                              int64_t Product::Batch::*operand) {
  const auto& batches = product.batches;
  GemmShape::Matrices of{.repeat = 0, .matrices = 1};
  for (const Product::Batch& batch : batches) {
    of.matrices = std::max(of.matrices, batch.*operand + 1);
    if (batch.*operand == 0 && of.matrices == 1) ++of.repeat;
  }
  of.repeat = std::max<int64_t>(of.repeat, 1);
  for (size_t i = 0; i < batches.size(); ++i)
    if (batches[i].*operand != static_cast<int64_t>(i) / of.repeat % of.matrices)
      return std::nullopt;
  return of;
}

Result<GemmShape> ShapeOf(const Product& product, DType storage) {
  const auto a = MatricesOf(product, &Product::Batch::a);
  const auto b = MatricesOf(product, &Product::Batch::b);
  if (!a || !b) return Unsupported("matrices that repeat along a batch axis in the middle");
  return GemmShape{.m = product.m,
                   .n = product.n,
                   .k = product.k,
                   .batch = static_cast<int64_t>(product.batches.size()),
                   .storage = storage,
                   .trans_a = product.trans_a,
                   .trans_b = product.trans_b && !product.constant_b,
                   .a = *a,
                   .b = *b};
}

/// The kinds of vector product that a shape is.
Result<VectorKind> VectorKindOf(const GemmShape& shape) {
  if (shape.m == 1) return shape.trans_b ? VectorKind::kRowOfTransposed : VectorKind::kRow;
  if (shape.n != 1)
    return Unsupported("{} rows and {} columns: expected one of either", shape.m, shape.n);
  if (shape.trans_a) return Unsupported("one column and a transposed left operand");
  return VectorKind::kColumn;
}

Result<GemmShape> ReadShape(const ir::Graph& group, DType storage) {
  ASSIGN_OR_RETURN(const Product product, ReadProduct(group));
  return ShapeOf(product, storage);
}
GemmShape ShapeOf(const Problem& problem) {
  return ReadShape(*problem.group, problem.states.outputs[0].storage).value();
}

Result<std::vector<StateAssignment>> RowCandidates(const ir::Graph& group) {
  RETURN_IF_ERROR(ReadShape(group, DType::kF32).status());
  if (group.outputs.size() != 1) return Unsupported("expected one output");
  if (!IsFloatValue(group.value(group.outputs[0]).dtype))
    return Unsupported("an output that is no float");
  std::vector<StateAssignment> states = RowAssignments(group);
  RETURN_IF_ERROR(Expression::Compile(group, states[0], group.nodes()[0].output(0)).status());
  return states;
}

/// Where tiles in local memory were never found slower.
bool WantsLocalMemory(const OpenClFacts& facts, const GemmShape& shape) {
  const bool is_large = shape.m >= 64 && shape.n >= 64 && shape.k >= 64;
  return is_large && facts.local_memory_is_dedicated &&
         (facts.family == "nvidia" || facts.family == "amd");
}

Result<std::vector<StateAssignment>> RegisterCandidates(const ir::Graph& group,
                                                        const Device& device) {
  ASSIGN_OR_RETURN(std::vector<StateAssignment> states, RowCandidates(group));
  ASSIGN_OR_RETURN(const GemmShape shape, ReadShape(group, DType::kF32));
  if (WantsLocalMemory(AsOpenCl(device).facts(), shape))
    return Unsupported("a large product belongs into local memory on '{}'", device.name());
  return states;
}

Result<std::vector<StateAssignment>> LocalCandidates(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(const GemmShape shape, ReadShape(group, DType::kF32));
  if (shape.m < 8 || shape.n < 8)
    return Unsupported("{} rows and {} columns: too few for a tile in local memory", shape.m,
                       shape.n);
  return RowCandidates(group);
}

Result<std::vector<StateAssignment>> VectorCandidates(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(const GemmShape shape, ReadShape(group, DType::kF32));
  RETURN_IF_ERROR(VectorKindOf(shape).status());
  return RowCandidates(group);
}

template <Arithmetic arithmetic>
Result<std::unique_ptr<PreparedKernel>> PrepareRegisters(const Problem& problem,
                                                         const Params& params,
                                                         const Device& device) {
  const GemmShape shape = ShapeOf(problem);
  return PrepareProduct(problem, device, shape,
                        SetUpRegisters(shape, params, AsOpenCl(device).facts()),
                        {"gemm/registers.cl", "gemm_registers"}, false, arithmetic);
}
template <Arithmetic arithmetic>
Result<std::unique_ptr<PreparedKernel>> PrepareLocal(const Problem& problem, const Params& params,
                                                     const Device& device) {
  const GemmShape shape = ShapeOf(problem);
  return PrepareProduct(problem, device, shape, SetUpLocal(shape, params, AsOpenCl(device).facts()),
                        {"gemm/local.cl", "gemm_local"}, false, arithmetic);
}
Result<std::unique_ptr<PreparedKernel>> PrepareVector(const Problem& problem, const Params& params,
                                                      const Device& device) {
  GemmShape shape = ShapeOf(problem);
  ASSIGN_OR_RETURN(const VectorKind kind, VectorKindOf(shape));
  const bool swaps = kind == VectorKind::kRowOfTransposed;
  if (swaps) std::swap(shape.a, shape.b);
  GemmSetup setup = SetUpVector(shape, params, kind, AsOpenCl(device).facts());
  if (swaps) std::swap(shape.a, shape.b);
  const ProgramFunction source =
      kind == VectorKind::kRow ? ProgramFunction{"gemm/vector_columns.cl", "gemm_vector_columns"}
                               : ProgramFunction{"gemm/vector_rows.cl", "gemm_vector_rows"};
  return PrepareProduct(problem, device, shape, std::move(setup), source, swaps);
}

/// What tiles.h and vectors.h say of a shape, said of a problem.
template <auto kOfShape>
std::vector<Tunable> TunablesOf(const Problem& problem, const Device& device) {
  return kOfShape(ShapeOf(problem), AsOpenCl(device).facts());
}
template <auto kOfShape>
Status ValidOf(const Problem& problem, const Params& params, const Device& device) {
  return kOfShape(ShapeOf(problem), params, AsOpenCl(device).facts());
}
template <auto kOfShape>
Params DefaultOf(const Problem& problem, const Device& device) {
  return kOfShape(ShapeOf(problem), AsOpenCl(device).facts());
}

}  // namespace

extern const KernelDesc kOpenClMatMulRegisters;
const KernelDesc kOpenClMatMulRegisters = {.name = "opencl.matmul.registers",
                                           .device = DeviceKind::kOpenCl,
                                           .preference = 10,
                                           .candidates = RegisterCandidates,
                                           .prepare = PrepareRegisters<Arithmetic::kF32>,
                                           .tunables = TunablesOf<RegisterTunables>,
                                           .valid = ValidOf<ValidRegisters>,
                                           .default_params = DefaultOf<DefaultRegisters>};

extern const KernelDesc kOpenClMatMulLocal;
const KernelDesc kOpenClMatMulLocal = {.name = "opencl.matmul.local",
                                       .device = DeviceKind::kOpenCl,
                                       .preference = 9,
                                       .candidates = LocalCandidates,
                                       .prepare = PrepareLocal<Arithmetic::kF32>,
                                       .tunables = TunablesOf<LocalTunables>,
                                       .valid = ValidOf<ValidLocal>,
                                       .default_params = DefaultOf<DefaultLocal>};

extern const KernelDesc kOpenClMatMulVector;
const KernelDesc kOpenClMatMulVector = {.name = "opencl.matmul.vector",
                                        .device = DeviceKind::kOpenCl,
                                        .preference = 13,
                                        .candidates = VectorCandidates,
                                        .prepare = PrepareVector,
                                        .tunables = TunablesOf<VectorTunables>,
                                        .valid = ValidOf<ValidLanes>,
                                        .default_params = DefaultOf<DefaultVector>};

extern const KernelDesc kOpenClMatMulRegistersF16;
const KernelDesc kOpenClMatMulRegistersF16 = {
    .name = "opencl.matmul.registers.f16",
    .device = DeviceKind::kOpenCl,
    .arithmetic = Arithmetic::kF16,
    .preference = 12,
    .candidates =
        [](const ir::Graph& group, const Device& device) {
          return HalfStates(group, RegisterCandidates(group, device), device);
        },
    .prepare = PrepareRegisters<Arithmetic::kF16>,
    .tunables = TunablesOf<RegisterTunables>,
    .valid = ValidOf<ValidRegisters>,
    .default_params = DefaultOf<DefaultRegisters>};

extern const KernelDesc kOpenClMatMulLocalF16;
const KernelDesc kOpenClMatMulLocalF16 = {.name = "opencl.matmul.local.f16",
                                          .device = DeviceKind::kOpenCl,
                                          .arithmetic = Arithmetic::kF16,
                                          .preference = 11,
                                          .candidates =
                                              [](const ir::Graph& group, const Device& device) {
                                                return HalfStates(
                                                    group, LocalCandidates(group, device), device);
                                              },
                                          .prepare = PrepareLocal<Arithmetic::kF16>,
                                          .tunables = TunablesOf<LocalTunables>,
                                          .valid = ValidOf<ValidLocal>,
                                          .default_params = DefaultOf<DefaultLocal>};

}  // namespace fettle::kernels
