// compiled: small
// 3x3 convolutions of stride 1, and of volumes plane by plane, by Winograd's F(m x m, 3 x 3):
// windows to points, one small product a point, points to tiles; a block of tiles at a time, in the
// second-level cache. Filters lie in memory as points, or as taps that become points in a block
// (decision 56).
//   cpu.conv.winograd43.nhwc    F(4x4, 3x3), channels-last, where it is a safe choice unmeasured
//   cpu.conv.winograd43.any     the same for few tiles or channels, or blocks of channels
//   cpu.conv.winograd23.any     F(2x2, 3x3): fewer and cheaper points, for small images
#include <algorithm>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/gemm/block.h"
#include "kernels/cpu/winograd/conv_kernel.h"
#include "kernels/family.h"
#include "kernels/fields.h"

namespace fettle::kernels {
namespace {

/// Fewer channels leave the transforms with more work than the products save.
constexpr int64_t kSafeChannels = 16, kLeastChannels = 8;
/// Fewer tiles do not pay for streaming filters of four times the size.
constexpr int64_t kSafeTiles = 24, kLeastTiles = 4;

Status CheckGeometry(const ConvGeometry& g) {
  if (g.kernel[1] != 3 || g.kernel[2] != 3) return Unsupported("not a 3x3 kernel");
  if (g.stride[1] != 1 || g.stride[2] != 1 || g.dilation[1] != 1 || g.dilation[2] != 1) {
    return Unsupported("a stride or dilation over 1");
  }
  if (g.groups != 1) return Unsupported("more than one group");
  if (g.kernel[0] > 1 && g.ic % 16 != 0) {
    return Unsupported("channels of several planes that are no whole vectors");
  }
  return OkStatus();
}

bool IsSafe(const ConvGeometry& g) {
  return std::min(g.ic, g.oc) >= kSafeChannels && TilesOf(g, 4).count >= kSafeTiles;
}

struct Conv {
  ConvOperands operands;
  ConvGeometry volume;
  ConvGeometry g;  // AsImages(volume)
};

Result<Conv> ReadWindows(const ir::Graph& group) {
  ASSIGN_OR_RETURN(const ConvOperands operands, ReadConvOperands(group, "Conv"));
  ASSIGN_OR_RETURN(const ConvGeometry g, ReadConvGeometry(group, group.nodes()[0]));
  RETURN_IF_ERROR(CheckGeometry(g));
  return Conv{operands, g, AsImages(g)};
}

Result<Conv> ReadSafe(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(Conv conv, ReadWindows(group));
  if (!IsSafe(conv.g))
    return Unsupported("fewer than {} channels or {} tiles", kSafeChannels, kSafeTiles);
  return conv;
}

Result<std::vector<StateAssignment>> SafeStates(const ir::Graph& group, const Conv& conv,
                                                const Device&) {
  const Layout last = Layout::ChannelsLast(group.value(conv.operands.x).shape->rank());
  return ConvStatesIn(group, conv.operands, {{last, last}});
}

template <int kOutputs>
Result<Conv> ReadAny(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(Conv conv, ReadWindows(group));
  if (std::min(conv.g.ic, conv.g.oc) < kLeastChannels)
    return Unsupported("fewer than {} channels", kLeastChannels);
  if (TilesOf(conv.g, kOutputs).count < kLeastTiles)
    return Unsupported("fewer than {} tiles", kLeastTiles);
  return conv;
}

/// Where tiles of 4x4 are too few, those of 2x2 are ahead of a product while they fill register
/// tiles and filters of 16 / 9 of the size do not bind them.
int Taste23(const Conv& conv, const Device&) {
  const bool pays = std::min(conv.g.ic, conv.g.oc) >= 32 && !IsSafe(conv.g) &&
                    TilesOf(conv.g, 2).count >= kSafeTiles;
  return pays ? 11 : 6;
}

template <int kOutputs>
Result<std::vector<StateAssignment>> AnyStates(const ir::Graph& group, const Conv& conv,
                                               const Device&) {
  const int rank = group.value(conv.operands.x).shape->rank();
  const Layout last = Layout::ChannelsLast(rank), blocks = ChannelBlockLayout();
  std::vector<ConvLayouts> layouts;
  if (kOutputs != 4 || !IsSafe(conv.g)) layouts.push_back({last, last});
  if (rank == 4) layouts.insert(layouts.end(), {{blocks, blocks}, {last, blocks}, {blocks, last}});
  return ConvStatesIn(group, conv.operands, layouts);
}

Result<WinogradProblem> ReadProblem(const Problem& problem, const Conv& conv, int outputs) {
  ASSIGN_OR_RETURN(const ConvPixels pixels, ReadConvPixels(problem, conv.operands.x));
  return WinogradProblem{conv.volume, conv.g, pixels, outputs};
}

/// Bytes of the inputs' points where filters become points in the block: in the third-level cache,
/// since the filters' transform wants many tiles to share it.
constexpr int64_t kSharedInputs = int64_t{4} << 20;

WinogradBlock ChooseBlock(const CpuInfo& info, const WinogradProblem& p, int threads) {
  const MicroKernels& kernels = GetMicroKernels();
  const int64_t l2 = info.l2_bytes > 0 ? info.l2_bytes : 512 * 1024;
  const int64_t point_bytes = p.points() * 4;
  WinogradBlock block;
  // Points that no cache near the core holds are four times as much to read as taps.
  block.from_taps = point_bytes * p.g.ic * p.g.oc > l2;
  // Else points of the inputs take half of the second-level cache; those of results a quarter.
  const int64_t inputs = block.from_taps ? kSharedInputs : l2 / 2;
  const int64_t most =
      std::max<int64_t>(kernels.mr, inputs / (point_bytes * p.g.ic) / kernels.mr * kernels.mr);
  const int64_t tiles = TilesOf(p.g, p.outputs).count;
  int64_t blocks = CeilDiv(tiles, most);
  if (!block.from_taps && blocks < int64_t{4} * threads && tiles >= kSafeTiles)
    blocks = RoundUp(blocks, threads);
  const int64_t padded_oc = RoundUp(p.g.oc, kernels.nr);
  if (blocks < threads || (block.from_taps && blocks % threads != 0)) {
    const int64_t each = block.from_taps ? 1 : 2;
    block.column_tasks = std::min<int64_t>(each * threads, padded_oc / kernels.nr);
    // Filters become points in each block, so that there are no more blocks than lanes want.
    if (tiles >= kSafeTiles) blocks = std::max(blocks, CeilDiv(threads, block.column_tasks));
  }
  // Whole register tiles: what is left over adds up in another order, and must be the same tiles
  // for any number of threads.
  block.tiles = RoundUp(CeilDiv(tiles, blocks), kernels.mr);
  const int64_t columns = l2 / 4 / (point_bytes * block.tiles) / kernels.nr * kernels.nr;
  block.columns = std::clamp<int64_t>(columns, kernels.nr, padded_oc);
  return block;
}

/// A block as it is searched: columns in panels of nr.
struct BlockParams {
  int64_t tiles = 1, panels = 1, column_tasks = 1, from_taps = 0;
};
constexpr Fields kFields("", Field{"tiles", &BlockParams::tiles, {}},
                         Field{"panels", &BlockParams::panels, {}},
                         Field{"column_tasks", &BlockParams::column_tasks, {}},
                         Field{"from_taps", &BlockParams::from_taps, {}});

template <int kOutputs>
ParamSpace Space(const Problem& problem, const Conv& conv, const Device& device) {
  const WinogradProblem p = ReadProblem(problem, conv, kOutputs).value();
  const WinogradBlock usual =
      ChooseBlock(static_cast<const CpuDevice&>(device).info(), p, problem.threads);
  const int nr = GetMicroKernels().nr;
  const int64_t tiles = RoundUp(TilesOf(p.g, kOutputs).count, GetMicroKernels().mr);
  const int64_t panels = CeilDiv(p.g.oc, nr);
  return {kFields.Tunables({ValuesAround(usual.tiles, tiles),
                            ValuesAround(usual.columns / nr, panels),
                            ValuesAround(usual.column_tasks, panels),
                            {0, 1}}),
          kFields.Write({usual.tiles, usual.columns / nr, usual.column_tasks, usual.from_taps}),
          {}};
}

template <int kOutputs>
Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Conv& conv,
                                                const Params& params, const Device&) {
  ASSIGN_OR_RETURN(const WinogradProblem p, ReadProblem(problem, conv, kOutputs));
  ASSIGN_OR_RETURN(Epilogue epilogue, Epilogue::Compile(*problem.group, problem.states));
  const BlockParams read = kFields.Read(params);
  const WinogradBlock block{.tiles = std::max<int64_t>(read.tiles, 1),
                            .columns = std::max<int64_t>(read.panels, 1) * GetMicroKernels().nr,
                            .column_tasks = std::max<int64_t>(read.column_tasks, 1),
                            .from_taps = read.from_taps != 0};
  return MakeConvWinograd(problem, conv.operands, p, std::move(epilogue), block);
}

/// Products of the points, and the transforms' additions, which also take the vector units' time.
template <int kOutputs>
Work CountWork(const Problem& problem, const Conv& conv, const Params& params, const Device&) {
  const WinogradProblem p = ReadProblem(problem, conv, kOutputs).value();
  const auto tiles = static_cast<double>(TilesOf(p.g, kOutputs).count);
  const auto points = static_cast<double>(p.points());
  const auto ic = static_cast<double>(p.g.ic), oc = static_cast<double>(p.g.oc);
  Work work;
  work.operations = 2 * tiles * points * ic * oc;
  const double filter = kFields.Read(params).from_taps != 0 ? 9 : points;
  const ConvGeometry& v = p.volume;
  work.bytes = 4 * (static_cast<double>(v.ic * v.batch * v.in[0] * v.in[1] * v.in[2]) +
                    oc * static_cast<double>(p.g.pixels()) + filter * ic * oc);
  return work;
}

constexpr Family<Conv> kSafe43{.read = ReadSafe,
                               .states = SafeStates,
                               .prepare = Prepare<4>,
                               .params = Space<4>,
                               .taste = Always<12>,
                               .work = CountWork<4>,
                               .takes_near_extents = true};
constexpr Family<Conv> kAny43{.read = ReadAny<4>,
                              .states = AnyStates<4>,
                              .prepare = Prepare<4>,
                              .params = Space<4>,
                              .taste = Always<7>,
                              .work = CountWork<4>,
                              .takes_near_extents = true};
constexpr Family<Conv> kAny23{.read = ReadAny<2>,
                              .states = AnyStates<2>,
                              .prepare = Prepare<2>,
                              .params = Space<2>,
                              .taste = Taste23,
                              .work = CountWork<2>,
                              .takes_near_extents = true};

}  // namespace

extern const KernelDesc kCpuConvWinograd43Nhwc;
const KernelDesc kCpuConvWinograd43Nhwc = {
    .name = "cpu.conv.winograd43.nhwc", .version = 3, .match = MatchAs<kSafe43>};

extern const KernelDesc kCpuConvWinograd43Any;
const KernelDesc kCpuConvWinograd43Any = {
    .name = "cpu.conv.winograd43.any", .version = 2, .match = MatchAs<kAny43>};

extern const KernelDesc kCpuConvWinograd23Any;
const KernelDesc kCpuConvWinograd23Any = {
    .name = "cpu.conv.winograd23.any", .version = 2, .match = MatchAs<kAny23>};

}  // namespace fettle::kernels
