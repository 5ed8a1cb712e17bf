// 3x3 convolutions of stride 1 by Winograd's F(m x m, 3 x 3): windows to points, one small product
// a point, points to tiles; a block of tiles at a time, in the second-level cache.
//   cpu.conv.winograd43.nhwc    F(4x4, 3x3), channels-last, where it is a safe choice unmeasured
//   cpu.conv.winograd43.any     the same for few tiles or channels, or blocks of channels
//   cpu.conv.winograd23.any     F(2x2, 3x3): fewer and cheaper points, for small images
#include <algorithm>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/gemm/block.h"
#include "kernels/cpu/winograd/conv_kernel.h"

namespace fettle::kernels {
namespace {

/// Fewer channels leave the transforms with more work than the products save.
constexpr int64_t kSafeChannels = 16, kLeastChannels = 8;
/// Fewer tiles do not pay for streaming filters of four times the size.
constexpr int64_t kSafeTiles = 24, kLeastTiles = 4;

Status CheckGeometry(const ConvGeometry& g) {
  using Axes = std::array<int64_t, 3>;
  if (g.kernel != Axes{1, 3, 3} || g.in[0] != 1) return Unsupported("not a 3x3 kernel");
  if (g.stride != Axes{1, 1, 1} || g.dilation != Axes{1, 1, 1}) {
    return Unsupported("a stride or dilation over 1");
  }
  if (g.groups != 1) return Unsupported("more than one group");
  return OkStatus();
}

bool IsSafe(const ConvGeometry& g) {
  return std::min(g.ic, g.oc) >= kSafeChannels && TilesOf(g, 4).count >= kSafeTiles;
}

Result<std::vector<StateAssignment>> SafeCandidates(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(const ConvOperands operands, ReadConvOperands(group, "Conv"));
  ASSIGN_OR_RETURN(const ConvGeometry g, ReadConvGeometry(group, group.nodes()[0]));
  RETURN_IF_ERROR(CheckGeometry(g));
  if (!IsSafe(g))
    return Unsupported("fewer than {} channels or {} tiles", kSafeChannels, kSafeTiles);
  const Layout last = Layout::ChannelsLast(group.value(operands.x).shape->rank());
  return ConvStatesIn(group, operands, {{last, last}});
}

template <int kOutputs>
Result<std::vector<StateAssignment>> AnyCandidates(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(const ConvOperands operands, ReadConvOperands(group, "Conv"));
  ASSIGN_OR_RETURN(const ConvGeometry g, ReadConvGeometry(group, group.nodes()[0]));
  RETURN_IF_ERROR(CheckGeometry(g));
  if (std::min(g.ic, g.oc) < kLeastChannels)
    return Unsupported("fewer than {} channels", kLeastChannels);
  if (TilesOf(g, kOutputs).count < kLeastTiles)
    return Unsupported("fewer than {} tiles", kLeastTiles);
  const int rank = group.value(operands.x).shape->rank();
  const Layout last = Layout::ChannelsLast(rank), blocks = ChannelBlockLayout();
  std::vector<ConvLayouts> layouts;
  if (kOutputs != 4 || !IsSafe(g)) layouts.push_back({last, last});
  if (rank == 4) layouts.insert(layouts.end(), {{blocks, blocks}, {last, blocks}, {blocks, last}});
  return ConvStatesIn(group, operands, layouts);
}

Result<WinogradProblem> ReadProblem(const Problem& problem, int outputs) {
  ASSIGN_OR_RETURN(const ConvGeometry g, ReadConvGeometry(*problem.group, problem.node()));
  ASSIGN_OR_RETURN(const ConvPixels pixels, ReadConvPixels(problem, problem.node().input(0)));
  return WinogradProblem{g, pixels, outputs};
}

WinogradBlock ChooseBlock(const CpuInfo& info, const WinogradProblem& p, int threads) {
  const MicroKernels& kernels = GetMicroKernels();
  // Points of the inputs take half of the second-level cache, points of the results a quarter.
  const int64_t l2 = info.l2_bytes > 0 ? info.l2_bytes : 512 * 1024;
  const int64_t point_bytes = p.points() * 4;
  const int64_t most =
      std::max<int64_t>(kernels.mr, l2 / 2 / (point_bytes * p.g.ic) / kernels.mr * kernels.mr);
  const int64_t tiles = TilesOf(p.g, p.outputs).count;
  int64_t blocks = CeilDiv(tiles, most);
  if (blocks < int64_t{4} * threads && tiles >= kSafeTiles) blocks = RoundUp(blocks, threads);
  WinogradBlock block;
  block.tiles = CeilDiv(tiles, blocks);
  const int64_t columns = l2 / 4 / (point_bytes * block.tiles) / kernels.nr * kernels.nr;
  const int64_t padded_oc = RoundUp(p.g.oc, kernels.nr);
  block.columns = std::clamp<int64_t>(columns, kernels.nr, padded_oc);
  if (blocks < threads)
    block.column_tasks = std::min<int64_t>(int64_t{2} * threads, padded_oc / kernels.nr);
  return block;
}

template <int kOutputs>
std::vector<Tunable> Tunables(const Problem& problem, const Device& device) {
  const WinogradProblem p = ReadProblem(problem, kOutputs).value();
  const WinogradBlock usual =
      ChooseBlock(static_cast<const CpuDevice&>(device).info(), p, problem.threads);
  const int nr = GetMicroKernels().nr;
  const int64_t panels = CeilDiv(p.g.oc, nr);
  return {{"tiles", ValuesAround(usual.tiles, TilesOf(p.g, kOutputs).count)},
          {"panels", ValuesAround(usual.columns / nr, panels)},
          {"column_tasks", ValuesAround(usual.column_tasks, panels)}};
}

template <int kOutputs>
Params Defaults(const Problem& problem, const Device& device) {
  const WinogradBlock usual = ChooseBlock(static_cast<const CpuDevice&>(device).info(),
                                          ReadProblem(problem, kOutputs).value(), problem.threads);
  return {{"tiles", usual.tiles},
          {"panels", usual.columns / GetMicroKernels().nr},
          {"column_tasks", usual.column_tasks}};
}

template <int kOutputs>
Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Params& params,
                                                const Device& device) {
  const auto& cpu = static_cast<const CpuDevice&>(device);
  ASSIGN_OR_RETURN(const ConvOperands operands, ReadConvOperands(*problem.group, "Conv"));
  ASSIGN_OR_RETURN(const WinogradProblem p, ReadProblem(problem, kOutputs));
  ASSIGN_OR_RETURN(Epilogue epilogue, Epilogue::Compile(*problem.group, problem.states));
  WinogradBlock block = ChooseBlock(cpu.info(), p, problem.threads);
  const auto read = [&](std::string_view name, int64_t unit, int64_t& value) {
    if (const auto it = params.find(name); it != params.end())
      value = std::max<int64_t>(it->second, 1) * unit;
  };
  read("tiles", 1, block.tiles);
  read("panels", GetMicroKernels().nr, block.columns);
  read("column_tasks", 1, block.column_tasks);
  return MakeConvWinograd(problem, operands, p, std::move(epilogue), block, cpu.pool().threads());
}

/// Products of the points, and the transforms' additions, which also take the vector units' time.
template <int kOutputs>
Work CountWork(const Problem& problem, const Params&, const Device&) {
  const WinogradProblem p = ReadProblem(problem, kOutputs).value();
  const auto tiles = static_cast<double>(TilesOf(p.g, kOutputs).count);
  const auto points = static_cast<double>(p.points());
  const auto ic = static_cast<double>(p.g.ic), oc = static_cast<double>(p.g.oc);
  Work work;
  work.operations = 2 * tiles * points * ic * oc;
  work.bytes = 4 * (ic * static_cast<double>(p.g.batch * p.g.in[1] * p.g.in[2]) +
                    oc * static_cast<double>(p.g.pixels()) + points * ic * oc);
  return work;
}

}  // namespace

extern const KernelDesc kCpuConvWinograd43Nhwc;
const KernelDesc kCpuConvWinograd43Nhwc = {.name = "cpu.conv.winograd43.nhwc",
                                           .version = 2,
                                           .preference = 12,
                                           .candidates = SafeCandidates,
                                           .prepare = Prepare<4>,
                                           .tunables = Tunables<4>,
                                           .default_params = Defaults<4>,
                                           .work = CountWork<4>};

extern const KernelDesc kCpuConvWinograd43Any;
const KernelDesc kCpuConvWinograd43Any = {.name = "cpu.conv.winograd43.any",
                                          .preference = 7,
                                          .candidates = AnyCandidates<4>,
                                          .prepare = Prepare<4>,
                                          .tunables = Tunables<4>,
                                          .default_params = Defaults<4>,
                                          .work = CountWork<4>};

extern const KernelDesc kCpuConvWinograd23Any;
const KernelDesc kCpuConvWinograd23Any = {.name = "cpu.conv.winograd23.any",
                                          .preference = 6,
                                          .candidates = AnyCandidates<2>,
                                          .prepare = Prepare<2>,
                                          .tunables = Tunables<2>,
                                          .default_params = Defaults<2>,
                                          .work = CountWork<2>};

}  // namespace fettle::kernels
