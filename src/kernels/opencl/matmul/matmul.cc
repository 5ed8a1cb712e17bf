// MatMul and Gemm by the algorithms of kernels/opencl/gemm, with an epilogue. Operands are
// row-major buffers where nothing else is said; a constant B is packed as [k, n], for a vector as
// [n, k].
//   opencl.matmul.registers     tiles in registers
//   opencl.matmul.local         tiles in local memory
//   opencl.matmul.mma           instructions that multiply matrices of f16
//   opencl.matmul.mma.bf16      the same of bf16, where a network has it
//   opencl.matmul.mma.tf32      the same of f32, factors rounded to TF32
//   opencl.matmul.mma.f32       the same of f32, each two of TF32: three products for one
//   opencl.matmul.vector        one row or one column
//   opencl.matmul.split_k       tiles in registers, parts of k added up after
//   opencl.matmul.shared        few outputs, the long sums of each shared by a work-group
//   opencl.matmul.batched       many small products, each as a whole in local memory
//   opencl.matmul.sub_groups    each work-item of a sub-group reads another step of A
//   opencl.matmul.images        A an image; B and C images or buffers
//   opencl.matmul.buffer_image  A column by column, B an image
//   opencl.matmul.columns       A column by column
//   opencl.matmul.naive         one output for each work-item
// The first two also compute in f16 (opencl.matmul.registers.f16, opencl.matmul.local.f16); the
// time of opencl.matmul.vector is that of reading the matrix.
#include <algorithm>

#include "kernels/opencl/matmul/product_family.h"

namespace fettle::kernels {
namespace {

/// Where tiles in local memory were never found slower than those in registers.
bool WantsLocalMemory(const GemmShape& shape, const OpenClFacts& facts) {
  const bool is_large = shape.m >= 64 && shape.n >= 64 && shape.k >= 64;
  return is_large && facts.local_memory_is_dedicated &&
         (facts.family == "nvidia" || facts.family == "amd");
}

template <int kUsual, int kBehindLocal>
int RegistersTaste(const ProductFacts& facts, const Device& device) {
  return WantsLocalMemory(facts.shape, AsOpenCl(device).facts()) ? kBehindLocal : kUsual;
}

/// A tile in local memory wants rows and columns.
template <int kUsual, int kForFew>
int LocalTaste(const ProductFacts& facts, const Device&) {
  return facts.shape.m < 8 || facts.shape.n < 8 ? kForFew : kUsual;
}

/// Few rows of a long sum are few tiles: parts of it keep more of a large device busy.
int SplitTaste(const ProductFacts& facts, const Device& device) {
  const OpenClFacts& opencl = AsOpenCl(device).facts();
  const GemmShape& shape = facts.shape;
  constexpr int64_t kTile = 64, kLongSum = 512;
  const int64_t tiles = DivideUp(shape.m, kTile) * DivideUp(shape.n, kTile);
  const bool leaves_units_idle = tiles < opencl.compute_units && shape.k >= kLongSum;
  return opencl.local_memory_is_dedicated && shape.m >= 8 && leaves_units_idle ? 11 : 3;
}

/// Few outputs of long sums: items of their own would be few, each with a long way (8 rows of 64
/// outputs over 256 at fp16 on an H200: 41 us by opencl.matmul.registers; 8 of 864 over 288 on an
/// H100: 57, in place of 9, and 11 by matrix instructions).
int SharedTaste(const ProductFacts& facts, const Device& device) {
  const OpenClFacts& opencl = AsOpenCl(device).facts();
  const GemmShape& shape = facts.shape;
  constexpr int64_t kThin = 16, kOutputsOfUnit = 64;
  const int64_t long_sum = std::min(shape.m, shape.n) == 1 ? 1024 : 64;  // vectors have kernels
  const bool is_thin = std::min(shape.m, shape.n) < kThin;
  const bool is_few = shape.m * shape.n * shape.batch <= kOutputsOfUnit * opencl.compute_units;
  const bool reads_far = shape.m == 1 && shape.constant_b;  // a packed matrix is read once
  return opencl.local_memory_is_dedicated && shape.k >= long_sum && is_thin && is_few && !reads_far
             ? 15
             : 2;
}

/// Items that share a sum have nothing to share where it is short: four matrices of 331,776 numbers
/// added up by weights took 58 us on an H100 in place of 9, 1,280 products of 17 by 96 81 on an
/// H200. With one sum an item that needs enough of them.
int VectorTaste(const ProductFacts& facts, const Device& device) {
  constexpr int64_t kShortSum = 16, kManySums = 1 << 14;
  const GemmShape& shape = facts.shape;
  const bool has_many = shape.m * shape.n * shape.batch >= kManySums;
  const bool is_short = has_many ? shape.k <= 4 * kShortSum : shape.m == 1 && shape.k <= kShortSum;
  return is_short && !AsOpenCl(device).facts().is_cpu ? 9 : 13;
}

/// Pieces are of 16 rows and 16 columns at least; fewer rows leave room in them, and take less time
/// than by items of their own.
template <int kUsual>
int MmaTaste(const ProductFacts& facts, const Device&) {
  const GemmShape& shape = facts.shape;
  return shape.m >= 2 && shape.n >= 16 && shape.k >= 16 ? kUsual : 2;
}

/// kProducts instructions for each product.
template <int kProducts>
Work MmaWork(const Problem& problem, const ProductFacts& facts, const Params&, const Device&) {
  const GemmShape& shape = facts.shape;
  const State& c = problem.states.outputs[0];
  const double macs = static_cast<double>(shape.m * shape.n) * static_cast<double>(shape.k);
  return {.operations = 2 * kProducts * macs * static_cast<double>(shape.batch),
          .ceiling = StorageBytes(c.storage, 1) == 2 ? "f16 mma" : "tf32 mma",
          .bytes = static_cast<double>(StorageBytes(c.storage, shape.m * shape.n * shape.batch))};
}

template <const GemmAlgorithm& kAlgorithm, int kUsualTaste,
          Arithmetic arithmetic = Arithmetic::kF32, int kProducts = 1>
constexpr Family<ProductFacts> kMmaFamily = [] {
  Family<ProductFacts> family = kProductFamily<kAlgorithm, MmaTaste<kUsualTaste>, arithmetic>;
  family.work = MmaWork<kProducts>;
  return family;
}();

/// bf16 is stored as such alone: nothing else is rounded to it.
Result<std::vector<StateAssignment>> BFloatStates(const ir::Graph& group, const ProductFacts& facts,
                                                  const Device& device) {
  const auto is_bfloat = [&](ir::ValueId id) { return group.value(id).dtype == DType::kBF16; };
  if (!std::all_of(group.inputs.begin(), group.inputs.end(), is_bfloat) ||
      !std::all_of(group.outputs.begin(), group.outputs.end(), is_bfloat))
    return Unsupported("operands that are not bf16");
  return StatesFor(kGemmMmaBFloat, group, facts.product, device);
}

constexpr Family<ProductFacts> kBFloatFamily = [] {
  Family<ProductFacts> family = kMmaFamily<kGemmMmaBFloat, 14>;
  family.states = BFloatStates;
  return family;
}();

}  // namespace

extern const KernelDesc kOpenClMatMulRegisters;
const KernelDesc kOpenClMatMulRegisters = {
    .name = "opencl.matmul.registers",
    .match = MatchAs<kProductFamily<kGemmRegisters, RegistersTaste<10, 8>>>,
    .parameters = ProductParameters<kGemmRegisters>};

extern const KernelDesc kOpenClMatMulLocal;
const KernelDesc kOpenClMatMulLocal = {
    .name = "opencl.matmul.local",
    .match = MatchAs<kProductFamily<kGemmLocal, LocalTaste<9, 4>>>,
    .parameters = ProductParameters<kGemmLocal>};

extern const KernelDesc kOpenClMatMulMma;
const KernelDesc kOpenClMatMulMma = {.name = "opencl.matmul.mma",
                                     .match = MatchAs<kMmaFamily<kGemmMma, 14>>,
                                     .parameters = ProductParameters<kGemmMma>};

extern const KernelDesc kOpenClMatMulMmaBFloat;
const KernelDesc kOpenClMatMulMmaBFloat = {.name = "opencl.matmul.mma.bf16",
                                           .match = MatchAs<kBFloatFamily>,
                                           .parameters = ProductParameters<kGemmMmaBFloat>};

extern const KernelDesc kOpenClMatMulMmaTf32;
const KernelDesc kOpenClMatMulMmaTf32 = {
    .name = "opencl.matmul.mma.tf32",
    .arithmetic = Arithmetic::kTF32,
    .match = MatchAs<kMmaFamily<kGemmMmaTf32, 12, Arithmetic::kTF32>>,
    .parameters = ProductParameters<kGemmMmaTf32>};

extern const KernelDesc kOpenClMatMulMmaF32;
const KernelDesc kOpenClMatMulMmaF32 = {
    .name = "opencl.matmul.mma.f32",
    .match = MatchAs<kMmaFamily<kGemmMmaF32, 11, Arithmetic::kF32, 3>>,
    .parameters = ProductParameters<kGemmMmaF32>};

extern const KernelDesc kOpenClMatMulVector;
const KernelDesc kOpenClMatMulVector = {.name = "opencl.matmul.vector",
                                        .match = MatchAs<kProductFamily<kGemmVector, VectorTaste>>,
                                        .parameters = ProductParameters<kGemmVector>};

extern const KernelDesc kOpenClMatMulSplitK;
const KernelDesc kOpenClMatMulSplitK = {.name = "opencl.matmul.split_k",
                                        .match = MatchAs<kProductFamily<kGemmSplit, SplitTaste>>,
                                        .parameters = ProductParameters<kGemmSplit>};

extern const KernelDesc kOpenClMatMulShared;
const KernelDesc kOpenClMatMulShared = {.name = "opencl.matmul.shared",
                                        .match = MatchAs<kProductFamily<kGemmShared, SharedTaste>>,
                                        .parameters = ProductParameters<kGemmShared>};

extern const KernelDesc kOpenClMatMulBatched;
const KernelDesc kOpenClMatMulBatched = {.name = "opencl.matmul.batched",
                                         .match = MatchAs<kProductFamily<kGemmBatched, Always<3>>>,
                                         .parameters = ProductParameters<kGemmBatched>};

extern const KernelDesc kOpenClMatMulSubGroups;
const KernelDesc kOpenClMatMulSubGroups = {
    .name = "opencl.matmul.sub_groups",
    .match = MatchAs<kProductFamily<kGemmSubGroups, Always<3>>>,
    .parameters = ProductParameters<kGemmSubGroups>};

extern const KernelDesc kOpenClMatMulImages;
const KernelDesc kOpenClMatMulImages = {.name = "opencl.matmul.images",
                                        .match = MatchAs<kProductFamily<kGemmImages, Always<2>>>,
                                        .parameters = ProductParameters<kGemmImages>};

extern const KernelDesc kOpenClMatMulBufferImage;
const KernelDesc kOpenClMatMulBufferImage = {
    .name = "opencl.matmul.buffer_image",
    .match = MatchAs<kProductFamily<kGemmBufferImage, Always<2>>>,
    .parameters = ProductParameters<kGemmBufferImage>};

extern const KernelDesc kOpenClMatMulColumns;
const KernelDesc kOpenClMatMulColumns = {.name = "opencl.matmul.columns",
                                         .match = MatchAs<kProductFamily<kGemmColumns, Always<2>>>,
                                         .parameters = ProductParameters<kGemmColumns>};

extern const KernelDesc kOpenClMatMulNaive;
const KernelDesc kOpenClMatMulNaive = {.name = "opencl.matmul.naive",
                                       .match = MatchAs<kProductFamily<kGemmNaive, Always<1>>>,
                                       .parameters = ProductParameters<kGemmNaive>};

extern const KernelDesc kOpenClMatMulRegistersF16;
const KernelDesc kOpenClMatMulRegistersF16 = {
    .name = "opencl.matmul.registers.f16",
    .arithmetic = Arithmetic::kF16,
    .match = MatchAs<kProductFamily<kGemmRegisters, RegistersTaste<12, 10>, Arithmetic::kF16>>,
    .parameters = ProductParameters<kGemmRegisters>};

extern const KernelDesc kOpenClMatMulLocalF16;
const KernelDesc kOpenClMatMulLocalF16 = {
    .name = "opencl.matmul.local.f16",
    .arithmetic = Arithmetic::kF16,
    .match = MatchAs<kProductFamily<kGemmLocal, LocalTaste<11, 5>, Arithmetic::kF16>>,
    .parameters = ProductParameters<kGemmLocal>};

}  // namespace fettle::kernels
