// Products of bytes with i32 sums; results are requantised, turned into floats for an element-wise
// program, or stored as sums.
// Bytes may be added to those of a shortcut (a residual block) before they are stored.
//   cpu.quantised.gemm         matrix products, and convolutions of channels-last pixels
//   cpu.quantised.gemm.amx     the same by matrix tiles
//   cpu.quantised.gemm.nchwc   convolutions from or to blocks of channels, or both
#include <algorithm>

#include "device/cpu/amx.h"
#include "kernels/cpu/epilogue/epilogue.h"
#include "kernels/cpu/quantised/gemm_kernel.h"
#include "kernels/cpu/quantised/tail.h"
#include "kernels/cpu/quantised/tile_lines.h"
#include "kernels/family.h"

namespace fettle::kernels {
namespace {

/// Longest sum of products that i32 holds: 2^31 / (255 * 255), rounded down.
constexpr int64_t kMaxDepth = 33000;

bool IsConv(const QuantisedGroup& q) {
  return q.core->op == "Conv"_op || q.core->op == "ConvInteger"_op;
}

Result<QuantShapes> ReadShapes(const ir::Graph& group, const QuantisedGroup& q) {
  QuantShapes shapes;
  ConvGeometry& g = shapes.g;
  if (IsConv(q)) {
    ASSIGN_OR_RETURN(g, ReadConvGeometry(group, *q.core));
    g = AsLines(g);
  } else {
    const Shape& a = *group.value(q.core->input(0)).shape;
    const Shape& b = *group.value(q.core->input(1)).shape;
    if (a.rank() < 2 || b.rank() != 2) return Unsupported("weights of rank {}", b.rank());
    g.ic = a[a.rank() - 1];
    const bool rows_are_channels = q.core->op == "Gemm"_op && q.core->attributes.Int("transB") != 0;
    shapes.transposed = !rows_are_channels;
    g.oc = b[rows_are_channels ? 0 : 1];
    g.in[2] = g.out[2] = a.Count(0, a.rank() - 1);
    if (q.bias != ir::kAbsent && group.value(q.bias).shape->elements() != g.oc)
      return Unsupported("the addend is no row of the output");
  }
  if (g.ic / g.groups * g.taps() > kMaxDepth)
    return Unsupported("sums of over {} products", kMaxDepth);
  if (g.pixels() == 0 || g.ic == 0 || g.oc == 0) return Unsupported("an empty operand");
  return shapes;
}

struct Bytes {
  QuantisedGroup q;
  QuantShapes shapes;
};

Result<Bytes> Read(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(const QuantisedGroup q, ReadQuantisedGroup(group));
  ASSIGN_OR_RETURN(const QuantShapes shapes, ReadShapes(group, q));
  return Bytes{q, shapes};
}

/// What makes results of floats; nothing where they are bytes, or sums with a shortcut's.
Result<std::optional<elementwise::Program>> CompileTail(const ir::Graph& group,
                                                        const QuantisedGroup& q,
                                                        const StateAssignment& states) {
  if (!q.residual) return CompileQuantTail(group, q, states);
  const State& shortcut = states.inputs[IndexOf(group.inputs, q.residual->shortcut)];
  if (shortcut.layout != states.outputs[0].layout)
    return Unsupported("a shortcut in another layout");
  return std::optional<elementwise::Program>();
}

Result<StateAssignment> UsualStates(const ir::Graph& group, const QuantisedGroup& q) {
  ASSIGN_OR_RETURN(StateAssignment states,
                   IsConv(q) ? ChannelsLastStates(group) : FloatRowMajorStates(group));
  RETURN_IF_ERROR(CompileTail(group, q, states).status());
  return states;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Bytes& bytes,
                                            const Device&) {
  ASSIGN_OR_RETURN(StateAssignment states, UsualStates(group, bytes.q));
  return std::vector<StateAssignment>{std::move(states)};
}

Result<Bytes> ReadForTiles(const ir::Graph& group, const Device& device) {
  if (!GetAmxSets().int8 || !RunsAvx512Vnni())
    return Unsupported("no matrix tiles of bytes (AMX-INT8)");
  return Read(group, device);
}

Result<Bytes> ReadImages(const ir::Graph& group, const Device& device) {
  ASSIGN_OR_RETURN(Bytes bytes, Read(group, device));
  if (!IsConv(bytes.q) || group.value(bytes.q.x).shape->rank() != 4)
    return Unsupported("not an image");
  if (bytes.shapes.g.groups != 1) return Unsupported("more than one group");
  return bytes;
}

Result<std::vector<StateAssignment>> BlockedStates(const ir::Graph& group, const Bytes& bytes,
                                                   const Device&) {
  ASSIGN_OR_RETURN(const StateAssignment usual, UsualStates(group, bytes.q));
  const ConvGeometry& g = bytes.shapes.g;
  const Layout blocks = ChannelBlockLayout(), last = Layout::ChannelsLast(4);
  const int64_t block = blocks.blocks[0].size;
  std::vector<ConvLayouts> layouts;
  if (2 * g.ic >= block && 2 * g.oc >= block) layouts.push_back({blocks, blocks});
  if (2 * g.oc >= block) layouts.push_back({last, blocks});
  if (2 * g.ic >= block) layouts.push_back({blocks, last});
  return StatesIn(group, bytes.q.x, usual, layouts, [&](const StateAssignment& states) {
    return CompileTail(group, bytes.q, states).status();
  });
}

/// The pixels of a convolution; rows of a product are pixels too.
Result<ConvPixels> ReadQuantPixels(const Problem& problem, const QuantisedGroup& q,
                                   const ConvGeometry& g) {
  if (IsConv(q)) return ReadConvPixels(problem, q.x);
  return ConvPixels{ChannelsLastPixels(g.ic, g.pixels()), ChannelsLastPixels(g.oc, g.pixels())};
}

/// What a problem is cut by.
struct Cut {
  int mr;
  int64_t max_tiles, all_panels;
  Blocking usual;
};

/// Micro-kernels as far as they matter for it: the tile, and bytes of depth that they read at once.
struct TileSize {
  int mr, nr;
  int64_t step_bytes;
};

/// `bytes_per_row` of scratch, which is to stay within `scratch` for all rows of a task.
Cut CutBy(const TileSize& tile, const ConvGeometry& g, int64_t depth, int64_t most_rows,
          int threads, const CpuDevice& device) {
  const int64_t columns = g.groups * RoundUp(g.oc / g.groups, tile.nr);
  const int64_t steps = CeilDiv(depth, tile.step_bytes);
  most_rows = std::max<int64_t>(most_rows, tile.mr);
  return {tile.mr, most_rows / tile.mr, columns / tile.nr,
          ChooseBlocking(device.info(), tile.mr, tile.nr, g.pixels(), columns, steps, threads,
                         most_rows)};
}

/// Elements of a row of one group.
int64_t DepthOf(const ConvGeometry& g, const TapPlan& taps) {
  return taps.taps * (g.groups == 1 ? taps.depth : g.ic / g.groups);
}

Cut ReadCut(const Problem& problem, const Bytes& bytes, const Device& device) {
  const ConvGeometry& g = bytes.shapes.g;
  const TapPlan taps = PlanTaps(g, ReadQuantPixels(problem, bytes.q, g).value().in, 1);
  const QuantKernels& kernels = KernelsFor(g);
  // Pointers stay in the first-level cache.
  const int64_t most_rows = std::min<int64_t>(16384 / taps.taps, 448);
  return CutBy({kernels.mr, kernels.nr, kernels.wide ? 2 : 4}, g, DepthOf(g, taps), most_rows,
               problem.threads, static_cast<const CpuDevice&>(device));
}

Cut ReadTileCut(const Problem& problem, const Bytes& bytes, const Device& device) {
  const ConvGeometry& g = bytes.shapes.g;
  const TapPlan taps = PlanTaps(g, ReadQuantPixels(problem, bytes.q, g).value().in, 1);
  // Rows may be copied: they stay in the second-level cache, beside weights and results.
  constexpr int64_t kCopies = 256 * 1024;
  const int64_t depth = DepthOf(g, taps);
  const int64_t most_rows = g.IsPointwise() ? 1024 : kCopies / RoundUp(depth, kTileDepth);
  return CutBy({2 * TileRowsOf(g), kBlockColumns, 4}, g, depth, most_rows, problem.threads,
               static_cast<const CpuDevice&>(device));
}

using CutReader = Cut (*)(const Problem&, const Bytes&, const Device&);
using Maker = std::unique_ptr<PreparedKernel> (*)(QuantProduct, const CpuDevice&);

/// Sums stay in registers: depth is not cut.
template <CutReader kRead>
ParamSpace Space(const Problem& problem, const Bytes& bytes, const Device& device) {
  const Cut cut = kRead(problem, bytes, device);
  ParamSpace space{BlockingTunables(cut.usual, cut.mr, cut.max_tiles, cut.all_panels),
                   BlockingParams(cut.usual, cut.mr),
                   {}};
  space.usual.erase(space.tunables.back().name);
  space.tunables.pop_back();
  return space;
}

template <CutReader kRead, Maker kMake>
Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Bytes& bytes,
                                                const Params& params, const Device& device) {
  ASSIGN_OR_RETURN(const ConvPixels pixels, ReadQuantPixels(problem, bytes.q, bytes.shapes.g));
  ASSIGN_OR_RETURN(std::optional<elementwise::Program> program,
                   CompileTail(*problem.group, bytes.q, problem.states));
  const Cut cut = kRead(problem, bytes, device);
  return kMake({problem, bytes.q, bytes.shapes, pixels, ReadBlocking(params, cut.usual, cut.mr),
                std::move(program)},
               static_cast<const CpuDevice&>(device));
}

/// Tiles that would be mostly padding are for the vectors.
int TileTaste(const Bytes& bytes, const Device&) {
  const ConvGeometry& g = bytes.shapes.g;
  const int64_t depth = g.ic / g.groups * g.taps();
  return g.pixels() >= 4 && g.oc / g.groups >= 8 && depth >= 16 ? 16 : 14;
}

constexpr Family<Bytes> kFamily{.read = Read,
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
    .name = "cpu.quantised.gemm", .version = 5, .match = MatchAs<kFamily>};

extern const KernelDesc kCpuQuantisedGemmAmx;
const KernelDesc kCpuQuantisedGemmAmx = {
    .name = "cpu.quantised.gemm.amx", .version = 2, .match = MatchAs<kAmxFamily>};

extern const KernelDesc kCpuQuantisedGemmNchwc;
const KernelDesc kCpuQuantisedGemmNchwc = {
    .name = "cpu.quantised.gemm.nchwc", .version = 4, .match = MatchAs<kBlockedFamily>};

}  // namespace fettle::kernels
