// MatMul and Gemm over row-major buffers, with an epilogue. A constant B is packed as [k, n].
//   opencl.matmul.registers  tiles in registers (gemm/registers.cl)
//   opencl.matmul.local      tiles in local memory (gemm/local.cl)
//   opencl.matmul.vector     one row or one column (gemm/vector_rows.cl, gemm/vector_columns.cl)
// The first two also compute in f16 (opencl.matmul.registers.f16, opencl.matmul.local.f16); the
// time of the third is that of reading the matrix.
#include <algorithm>
#include <optional>

#include "kernels/matmul/product.h"
#include "kernels/opencl/constant_floats.h"
#include "kernels/opencl/expression/expression.h"
#include "kernels/opencl/gemm/tiles.h"
#include "kernels/opencl/gemm/vectors.h"
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

PackRequest PackB(const Product& p, DType storage) {
  PackRequest request;
  request.constants = {p.b};
  request.recipe = fmt::format("opencl.matmul.kn{}.{}", p.trans_b ? ".t" : "", DTypeName(storage));
  request.bytes = p.b_matrices * p.k * p.n * ByteSize(storage);
  request.pack = [p, storage](std::span<const Constant* const> constants, std::byte* out) {
    const ConstantFloats b(*constants[0]);
    int64_t to = 0;
    for (int64_t z = 0; z < p.b_matrices; ++z)
      for (int64_t row = 0; row < p.k; ++row)
        for (int64_t column = 0; column < p.n; ++column) {
          const int64_t from = p.trans_b ? column * p.k + row : row * p.n + column;
          StoreFloat(b[z * p.k * p.n + from], storage, to++, out);
        }
    return OkStatus();
  };
  return request;
}

PackRequest PackRow(const Product& p, int64_t elements, DType storage) {
  PackRequest request;
  request.constants = {p.addend};
  request.recipe = fmt::format("opencl.matmul.row.{}", DTypeName(storage));
  request.bytes = elements * ByteSize(storage);
  request.pack = [elements, storage](std::span<const Constant* const> constants, std::byte* out) {
    const ConstantFloats row(*constants[0]);
    for (int64_t i = 0; i < elements; ++i) StoreFloat(row[i], storage, i, out);
    return OkStatus();
  };
  return request;
}

/// A program's file and function.
struct Source {
  const char* path;
  const char* function;
};

class MatMul final : public PreparedKernel {
 public:
  MatMul(const Problem& problem, Product product, const GemmShape& shape, GemmSetup setup,
         Expression expression)
      : p_(std::move(product)),
        shape_(shape),
        setup_(std::move(setup)),
        expression_(std::move(expression)) {
    a_ = InputIndex(*problem.group, p_.a);
    if (!p_.constant_b) b_ = InputIndex(*problem.group, p_.b);
    if (p_.addend != ir::kAbsent && !p_.constant_row)
      addend_ = InputIndex(*problem.group, p_.addend);
    if (setup_.extents.empty()) setup_.extents = {Int(shape.m), Int(shape.n), Int(shape.k)};
    if (p_.constant_b) packs_.push_back(PackB(p_, shape.storage));
    if (p_.constant_row)
      packs_.push_back(PackRow(p_, p_.addend_column_stride == 0 ? 1 : p_.n, shape.storage));
    own_packs_ = packs_.size();
    packs_.insert(packs_.end(), expression_.packs().begin(), expression_.packs().end());
  }

  /// Builds the program; where it reads aligned vectors, also one for operands at other places.
  Status Build(const OpenClDevice& device, const Source& source, bool swaps,
               Arithmetic arithmetic) {
    swaps_ = swaps;
    BuildOptions options;
    options.Define("FETTLE_HALF", shape_.storage == DType::kF16 ? 1 : 0);
    DefineArithmetic(arithmetic, device, options);
    options.Define("ADDEND", HasAddend() ? 1 : 0).Add(setup_.options.text());
    const auto build = [&](const BuildOptions& with) {
      return device.BuildKernel(MakeProgram(source.path, with, expression_.text()),
                                source.function);
    };
    ASSIGN_OR_RETURN(kernel_, build(options));
    unaligned_ = kernel_;
    const std::string_view aligned = "-DALIGNED=1";
    std::string text = options.text();
    const size_t at = text.find(aligned);
    if (at == std::string::npos) return OkStatus();
    BuildOptions others;
    others.Add(text.replace(at, aligned.size(), "-DALIGNED=0"));
    ASSIGN_OR_RETURN(unaligned_, build(others));
    return OkStatus();
  }

  std::vector<PackRequest> packs() const override { return packs_; }

  Status Launch(const LaunchArgs& args) const override {
    const int64_t element = ByteSize(shape_.storage);
    const Location a = args.inputs[a_], c = args.outputs[0];
    const Location b = p_.constant_b ? args.packed[0] : args.inputs[b_];
    ArgList list;
    for (const cl_int extent : setup_.extents) list.Value(extent);
    list.Tensor(swaps_ ? b : a, element).Tensor(swaps_ ? a : b, element).Tensor(c, element);
    for (const KernelArg& arg : setup_.more) list.Append(arg);
    if (HasAddend()) AppendAddend(args, list);
    expression_.AppendArgs(args, own_packs_, list);
    constexpr int64_t kWidestVector = 64;
    const bool is_aligned = (a.offset | b.offset | c.offset) % kWidestVector == 0;
    return OpenClStreamOf(args).Launch(is_aligned ? *kernel_ : *unaligned_, setup_.sizes,
                                       list.args());
  }

 private:
  static cl_int Int(int64_t value) { return static_cast<cl_int>(value); }
  bool HasAddend() const { return p_.addend != ir::kAbsent || p_.alpha != 1; }

  void AppendAddend(const LaunchArgs& args, ArgList& list) const {
    const bool is_there = p_.addend != ir::kAbsent;
    // Without one anything is named and, its factor being 0, not read.
    const Location d = !is_there         ? args.inputs[a_]
                       : p_.constant_row ? args.packed[own_packs_ - 1]
                                         : args.inputs[addend_];
    list.Value(p_.alpha).Value(is_there ? p_.beta : 0.0f);
    list.Tensor(d, ByteSize(shape_.storage));
    list.Value(Int(p_.addend_row_stride)).Value(Int(p_.addend_column_stride));
  }

  Product p_;
  GemmShape shape_;
  GemmSetup setup_;
  Expression expression_;
  size_t a_ = 0, b_ = 0, addend_ = 0;
  bool swaps_ = false;
  std::vector<PackRequest> packs_;
  size_t own_packs_ = 0;
  std::shared_ptr<OpenClKernel> kernel_, unaligned_;
};

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Device& device,
                                                const GemmShape& shape, GemmSetup setup,
                                                const Source& source, bool swaps,
                                                Arithmetic arithmetic = Arithmetic::kF32) {
  ASSIGN_OR_RETURN(Product product, ReadProduct(*problem.group));
  ASSIGN_OR_RETURN(Expression expression,
                   Expression::Compile(*problem.group, problem.states, problem.node().output(0)));
  auto made = std::make_unique<MatMul>(problem, std::move(product), shape, std::move(setup),
                                       std::move(expression));
  RETURN_IF_ERROR(made->Build(AsOpenCl(device), source, swaps, arithmetic));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

template <Arithmetic arithmetic>
Result<std::unique_ptr<PreparedKernel>> PrepareRegisters(const Problem& problem,
                                                         const Params& params,
                                                         const Device& device) {
  const GemmShape shape = ShapeOf(problem);
  return Prepare(problem, device, shape, SetUpRegisters(shape, params, AsOpenCl(device).facts()),
                 {"gemm/registers.cl", "gemm_registers"}, false, arithmetic);
}
template <Arithmetic arithmetic>
Result<std::unique_ptr<PreparedKernel>> PrepareLocal(const Problem& problem, const Params& params,
                                                     const Device& device) {
  const GemmShape shape = ShapeOf(problem);
  return Prepare(problem, device, shape, SetUpLocal(shape, params, AsOpenCl(device).facts()),
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
  const Source source = kind == VectorKind::kRow
                            ? Source{"gemm/vector_columns.cl", "gemm_vector_columns"}
                            : Source{"gemm/vector_rows.cl", "gemm_vector_rows"};
  return Prepare(problem, device, shape, std::move(setup), source, swaps);
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
