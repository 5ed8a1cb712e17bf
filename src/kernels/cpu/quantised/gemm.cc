// compiled: small
// Products of bytes with i32 sums; results are requantised, turned into floats for an element-wise
// program, or stored as sums.
// Bytes may be added to those of a shortcut (a residual block) before they are stored.
//   cpu.quantised.gemm         matrix products, and convolutions of channels-last pixels
//   cpu.quantised.gemm.amx     the same by matrix tiles
//   cpu.quantised.gemm.nchwc   convolutions from or to blocks of channels, or both
#include "device/cpu/amx.h"
#include "kernels/cpu/quantised/gemm_problem.h"
#include "kernels/cpu/quantised/tile_lines.h"
#include "kernels/family.h"

namespace fettle::kernels {
namespace {

using Bytes = QuantBytes;

Result<Bytes> Read(const ir::Graph& group, const Device&) { return ReadQuantBytes(group); }

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Bytes& bytes,
                                            const Device&) {
  ASSIGN_OR_RETURN(StateAssignment states, UsualQuantStates(group, bytes));
  return std::vector<StateAssignment>{std::move(states)};
}

Result<Bytes> ReadMerged(const ir::Graph& group, const Device& device) {
  ASSIGN_OR_RETURN(Bytes bytes, Read(group, device));
  if (bytes.is_conv()) bytes.shapes.MergeGroups(KernelsFor(bytes, device)->nr, kMaxQuantDepth);
  return bytes;
}

Result<Bytes> ReadForTiles(const ir::Graph& group, const Device& device) {
  if (!GetAmxSets().int8 || !RunsAvx512Vnni())
    return Unsupported("no matrix tiles of bytes (AMX-INT8)");
  return Read(group, device);
}

Result<Bytes> ReadImages(const ir::Graph& group, const Device& device) {
  ASSIGN_OR_RETURN(Bytes bytes, Read(group, device));
  if (!bytes.is_conv() || group.value(bytes.q.x).shape->rank() != 4)
    return Unsupported("not an image");
  if (bytes.shapes.g.groups != 1) return Unsupported("more than one group");
  return bytes;
}

Result<std::vector<StateAssignment>> BlockedStates(const ir::Graph& group, const Bytes& bytes,
                                                   const Device&) {
  ASSIGN_OR_RETURN(const StateAssignment usual, UsualQuantStates(group, bytes));
  const ConvGeometry& g = bytes.shapes.g;
  const Layout blocks = ChannelBlockLayout(), last = Layout::ChannelsLast(4);
  const int64_t block = blocks.blocks[0].size;
  std::vector<ConvLayouts> layouts;
  if (2 * g.ic >= block && 2 * g.oc >= block) layouts.push_back({blocks, blocks});
  if (2 * g.oc >= block) layouts.push_back({last, blocks});
  if (2 * g.ic >= block) layouts.push_back({blocks, last});
  return StatesIn(group, bytes.q.x, usual, layouts, [&](const StateAssignment& states) {
    return CompileResults(group, bytes.q, states).status();
  });
}

QuantCut ReadCut(const Problem& problem, const Bytes& bytes, const Device& device) {
  return CutForVectors(problem, bytes, *KernelsFor(bytes, device), device);
}

QuantCut ReadTileCut(const Problem& problem, const Bytes& bytes, const Device& device) {
  const ConvGeometry& g = bytes.shapes.g;
  const TapPlan taps = PlanTaps(g, ReadQuantPixels(problem, bytes).value().in, 1);
  // Rows may be copied: they stay in the second-level cache, beside weights and results.
  constexpr int64_t kCopies = 256 * 1024;
  const int64_t depth = DepthOf(g, taps);
  const int64_t most_rows = g.IsPointwise() ? 1024 : kCopies / RoundUp(depth, kTileDepth);
  return CutBy({2 * TileRowsOf(g), kBlockColumns, 4}, g, depth, most_rows, problem.threads,
               static_cast<const CpuDevice&>(device));
}

using CutReader = QuantCut (*)(const Problem&, const Bytes&, const Device&);
using Maker = std::unique_ptr<PreparedKernel> (*)(QuantProduct, const CpuDevice&);

template <CutReader kRead>
ParamSpace Space(const Problem& problem, const Bytes& bytes, const Device& device) {
  return SpaceOf(kRead(problem, bytes, device));
}

template <CutReader kRead, Maker kMake>
Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Bytes& bytes,
                                                const Params& params, const Device& device) {
  ASSIGN_OR_RETURN(QuantProduct product, ReadQuantProduct(problem, bytes, KernelsFor(bytes, device),
                                                          kRead(problem, bytes, device), params));
  return kMake(std::move(product), static_cast<const CpuDevice&>(device));
}

/// Tiles that would be mostly padding are for the vectors.
int TileTaste(const Bytes& bytes, const Device&) {
  const ConvGeometry& g = bytes.shapes.g;
  const int64_t depth = g.ic / g.groups * g.taps();
  return g.pixels() >= 4 && g.oc / g.groups >= 8 && depth >= 16 ? 16 : 14;
}

constexpr Family<Bytes> kFamily{.read = ReadMerged,
                                .states = States,
                                .prepare = Prepare<ReadCut, MakeQuantGemm>,
                                .params = Space<ReadCut>,
                                .taste = Always<15>};
constexpr Family<Bytes> kAmxFamily{.read = ReadForTiles,
                                   .states = States,
                                   .prepare = Prepare<ReadTileCut, MakeAmxGemm>,
                                   .params = Space<ReadTileCut>,
                                   .taste = TileTaste};
constexpr Family<Bytes> kBlockedFamily{.read = ReadImages,
                                       .states = BlockedStates,
                                       .prepare = Prepare<ReadCut, MakeQuantGemm>,
                                       .params = Space<ReadCut>,
                                       .taste = Always<13>};

}  // namespace

extern const KernelDesc kCpuQuantisedGemm;
const KernelDesc kCpuQuantisedGemm = {
    .name = "cpu.quantised.gemm", .version = 6, .match = MatchAs<kFamily>};

extern const KernelDesc kCpuQuantisedGemmAmx;
const KernelDesc kCpuQuantisedGemmAmx = {
    .name = "cpu.quantised.gemm.amx", .version = 2, .match = MatchAs<kAmxFamily>};

extern const KernelDesc kCpuQuantisedGemmNchwc;
const KernelDesc kCpuQuantisedGemmNchwc = {
    .name = "cpu.quantised.gemm.nchwc", .version = 4, .match = MatchAs<kBlockedFamily>};

}  // namespace fettle::kernels
