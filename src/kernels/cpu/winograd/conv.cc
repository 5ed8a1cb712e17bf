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

/// Fewer leave the transforms with more work than the products save.
constexpr int64_t kLeastChannels = 8;

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
  if (!IsSafeWinograd(conv.g))
    return Unsupported("fewer than {} channels or {} tiles", kSafeWinogradChannels,
                       kSafeWinogradTiles);
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
  if (TilesOf(conv.g, kOutputs).count < kLeastWinogradTiles)
    return Unsupported("fewer than {} tiles", kLeastWinogradTiles);
  return conv;
}

int Taste23(const Conv& conv, const Device&) { return PaysWinograd23(conv.g) ? 11 : 6; }

template <int kOutputs>
Result<std::vector<StateAssignment>> AnyStates(const ir::Graph& group, const Conv& conv,
                                               const Device&) {
  const int rank = group.value(conv.operands.x).shape->rank();
  const Layout last = Layout::ChannelsLast(rank), blocks = ChannelBlockLayout();
  std::vector<ConvLayouts> layouts;
  if (kOutputs != 4 || !IsSafeWinograd(conv.g)) layouts.push_back({last, last});
  if (rank == 4) layouts.insert(layouts.end(), {{blocks, blocks}, {last, blocks}, {blocks, last}});
  return ConvStatesIn(group, conv.operands, layouts);
}

Result<WinogradProblem> ReadProblem(const Problem& problem, const Conv& conv, int outputs) {
  ASSIGN_OR_RETURN(const ConvPixels pixels, ReadConvPixels(problem, conv.operands.x));
  return WinogradProblem{conv.volume, conv.g, pixels, outputs};
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
      UsualWinogradBlock(static_cast<const CpuDevice&>(device).info(), p, problem.threads);
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
