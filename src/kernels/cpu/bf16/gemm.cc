// compiled: small
// Convolutions and matrix products in bf16: weights are rounded when they are packed, activations,
// f32 in memory, while a task packs its rows; sums are f32.
//   cpu.bf16.gemm.amx   by matrix tiles
//   cpu.bf16.gemm.dot   by vectors of pairs (AVX512-BF16)
#include "device/cpu/amx.h"
#include "kernels/cpu/bf16/gemm_kernel.h"
#include "kernels/cpu/simd/targets.h"
#include "kernels/family.h"

namespace fettle::kernels {
namespace {

bool RunsAvx512Bf16() { return GetCpuInfo().avx512_bf16 && RunsSimdTarget("AVX3"); }

bool HasTiles() { return GetAmxSets().bf16 && RunsAvx512Bf16(); }

Result<Bf16Product> ReadForTiles(const ir::Graph& group, const Device&) {
  if (!HasTiles()) return Unsupported("no matrix tiles of bf16 (AMX-BF16)");
  return ReadBf16Product(group);
}

Result<Bf16Product> ReadForVectors(const ir::Graph& group, const Device&) {
  if (!RunsAvx512Bf16()) return Unsupported("no dot products of bf16 (AVX512-BF16)");
  return ReadBf16Product(group);
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Bf16Product& product,
                                            const Device&) {
  ASSIGN_OR_RETURN(StateAssignment states, product.is_conv ? ConvStates(group, product.operands)
                                                           : FloatRowMajorStates(group));
  RETURN_IF_ERROR(Epilogue::Compile(group, states).status());
  return std::vector<StateAssignment>{std::move(states)};
}

using GetBlocks = const Bf16Blocks& (*)();

/// Sums stay in registers: depth is not cut.
template <GetBlocks kBlocks>
ParamSpace Space(const Problem& problem, const Bf16Product& product, const Device& device) {
  const Bf16Cut cut =
      CutBf16(product, kBlocks(), problem.threads, static_cast<const CpuDevice&>(device));
  const int height = 2 * cut.tile_rows;
  ParamSpace space{BlockingTunables(cut.usual, height, cut.most_rows / height, cut.all_panels),
                   BlockingParams(cut.usual, height),
                   {}};
  space.usual.erase(space.tunables.back().name);
  space.tunables.pop_back();
  return space;
}

template <GetBlocks kBlocks>
Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Bf16Product& product,
                                                const Params& params, const Device& device) {
  const auto& cpu = static_cast<const CpuDevice&>(device);
  ASSIGN_OR_RETURN(const ConvPixels pixels, product.PixelsIn(problem));
  ASSIGN_OR_RETURN(Epilogue epilogue, Epilogue::Compile(*problem.group, problem.states));
  const Bf16Cut cut = CutBf16(product, kBlocks(), problem.threads, cpu);
  const int height = 2 * cut.tile_rows;
  return MakeBf16Gemm(problem, product, pixels, std::move(epilogue),
                      ReadBlocking(params, cut.usual, height, cut.most_rows / height), kBlocks(),
                      cpu);
}

int64_t Macs(const Bf16Product& product) {
  const WeightShape& weights = product.weights;
  return product.g.pixels() * weights.groups * weights.oc * weights.depth();
}

/// What is known to be faster than the kernels of f32, and what is not.
constexpr int kFaster = 18, kUnknown = 3;

/// Tiles are faster unless most of them would be padding, or configuring them takes as long as the
/// product.
int TileTaste(const Bf16Product& product, const Device&) {
  constexpr int64_t kLeastMacs = 1 << 17;
  const bool fills = product.weights.oc >= 12 && product.weights.depth() >= 24;
  return fills && Macs(product) >= kLeastMacs ? kFaster : kUnknown;
}

/// With so few rows that reading the weights is all that takes time, half of the bytes are half of
/// it. With more it depends on the processor: on some, pairs of bf16 take as long as two of f32.
int VectorTaste(const Bf16Product& product, const Device& device) {
  constexpr int64_t kFewRows = 4;
  const int64_t l2 = static_cast<const CpuDevice&>(device).info().l2_bytes;
  const bool streams = product.g.pixels() <= kFewRows && product.g.groups == 1 &&
                       product.weights.oc * product.weights.depth() * 2 > l2;
  return streams && !HasTiles() ? kFaster : kUnknown;
}

/// Inputs are read where windows leave none out.
Work LeastWork(const Problem&, const Bf16Product& product, const Params&, const Device&) {
  const ConvGeometry& g = product.g;
  const bool reads_all = g.stride == std::array<int64_t, 3>{1, 1, 1};
  const int64_t input = reads_all ? g.batch * g.in[0] * g.in[1] * g.in[2] * g.ic : 0;
  const int64_t weights = product.weights.groups * product.weights.oc * product.weights.depth();
  return {.operations = 2 * static_cast<double>(Macs(product)),
          .ceiling = "bf16 dot",
          .bytes = static_cast<double>(4 * (input + g.pixels() * g.oc) + 2 * weights)};
}

constexpr Family<Bf16Product> kTileFamily{.read = ReadForTiles,
                                          .states = States,
                                          .prepare = Prepare<Bf16BlocksAmx>,
                                          .params = Space<Bf16BlocksAmx>,
                                          .taste = TileTaste,
                                          .work = LeastWork};
constexpr Family<Bf16Product> kVectorFamily{.read = ReadForVectors,
                                            .states = States,
                                            .prepare = Prepare<Bf16BlocksAvx512>,
                                            .params = Space<Bf16BlocksAvx512>,
                                            .taste = VectorTaste,
                                            .work = LeastWork};

}  // namespace

extern const KernelDesc kCpuBf16GemmAmx;
const KernelDesc kCpuBf16GemmAmx = {
    .name = "cpu.bf16.gemm.amx", .arithmetic = Arithmetic::kBF16, .match = MatchAs<kTileFamily>};

extern const KernelDesc kCpuBf16GemmDot;
const KernelDesc kCpuBf16GemmDot = {
    .name = "cpu.bf16.gemm.dot", .arithmetic = Arithmetic::kBF16, .match = MatchAs<kVectorFamily>};

}  // namespace fettle::kernels
