// compiled: small
// Convolution as a product of row pointers and packed weights (the indirect convolution of Dukhan,
// 2019): no im2col. Any kernel, stride and dilation.
//   cpu.conv.gemm.nhwc    channels-last, any group count
//   cpu.conv.gemm.nchwc   from or to blocks of channels, or both
//   cpu.conv.gemm.row     first layers: from a row-major input of few channels
#include <algorithm>
#include <cstring>

#include "kernels/cpu/conv/operands.h"
#include "kernels/cpu/conv/taps.h"
#include "kernels/cpu/epilogue/epilogue.h"
#include "kernels/cpu/gemm/block.h"
#include "kernels/cpu/gemm/pack.h"
#include "kernels/cpu/gemm/task_grid.h"
#include "kernels/family.h"
#include "kernels/join_windows.h"

namespace fettle::kernels {
namespace {

/// A convolution with constant or computed weights.
struct Conv {
  ConvOperands operands;
  ConvGeometry g;
};

Result<Conv> Read(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(const ConvOperands operands, ReadConvOperands(group, "Conv", true));
  ASSIGN_OR_RETURN(const ConvGeometry g, ReadConvGeometry(group, group.nodes()[0]));
  return Conv{operands, AsLines(g)};
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Conv& conv,
                                            const Device&) {
  ASSIGN_OR_RETURN(StateAssignment states, ConvStates(group, conv.operands));
  RETURN_IF_ERROR(Epilogue::Compile(group, states).status());
  return std::vector<StateAssignment>{std::move(states)};
}

/// What the kernels of other layouts take: one group of channels, constant weights, images.
Result<Conv> ReadImages(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(const ConvOperands operands, ReadConvOperands(group, "Conv"));
  ASSIGN_OR_RETURN(const ConvGeometry g, ReadConvGeometry(group, group.nodes()[0]));
  if (g.groups != 1) return Unsupported("more than one group");
  if (group.value(operands.x).shape->rank() != 4) return Unsupported("not two spatial axes");
  return Conv{operands, AsLines(g)};
}

Result<std::vector<StateAssignment>> BlockedStates(const ir::Graph& group, const Conv& conv,
                                                   const Device&) {
  const Layout blocks = ChannelBlockLayout(), last = Layout::ChannelsLast(4);
  const int64_t block = blocks.blocks[0].size;
  // Blocks that would be mostly padding are left to the channels-last form.
  std::vector<ConvLayouts> layouts;
  if (2 * conv.g.ic >= block && 2 * conv.g.oc >= block) layouts.push_back({blocks, blocks});
  if (2 * conv.g.oc >= block) layouts.push_back({last, blocks});
  if (2 * conv.g.ic >= block) layouts.push_back({blocks, last});
  return ConvStatesIn(group, conv.operands, layouts);
}

/// With more, copies of kernel rows at the borders and short depths cost more than a conversion.
constexpr int64_t kMostRowChannels = 4;

Result<Conv> ReadFewChannels(const ir::Graph& group, const Device& device) {
  ASSIGN_OR_RETURN(Conv conv, ReadImages(group, device));
  if (conv.g.ic > kMostRowChannels) return Unsupported("more than {} channels", kMostRowChannels);
  return conv;
}

Result<std::vector<StateAssignment>> RowStates(const ir::Graph& group, const Conv& conv,
                                               const Device&) {
  const Layout row = Layout::RowMajor(), blocks = ChannelBlockLayout();
  std::vector<ConvLayouts> layouts;
  for (const bool external : {false, true}) {
    if (external && group.value(conv.operands.x).dtype != DType::kF32) continue;
    layouts.push_back({row, Layout::ChannelsLast(4), external});
    if (2 * conv.g.oc >= blocks.blocks[0].size) layouts.push_back({row, blocks, external});
  }
  return ConvStatesIn(group, conv.operands, layouts);
}

/// Row tiles of one task.
constexpr int64_t kMaxTiles = 64;

class ConvGemm final : public PreparedKernel, public WritesWindow {
 public:
  ConvGemm(const Problem& problem, const ConvOperands& operands, const ConvGeometry& geometry,
           const ConvPixels& pixels, Epilogue epilogue, const Blocking& blocking,
           const CpuDevice& cpu)
      : operands_(operands),
        input_(IndexOf(problem.group->inputs, operands.x)),
        g_(geometry),
        out_(pixels.out),
        taps_(PlanTaps(geometry, pixels.in)),
        even_(geometry.IsPointwise() && pixels.in.is_channels_last()),
        kernels_(GetMicroKernels()),
        epilogue_(std::move(epilogue)),
        blocking_(blocking),
        lanes_(cpu.pool().threads()) {
    weights_ = {
        .groups = g_.groups, .oc = g_.oc / g_.groups, .ic = g_.ic / g_.groups, .taps = g_.taps()};
    if (!pixels.in.is_channels_last()) weights_.ic_block = pixels.in.block;
    // Tasks write whole blocks of channels, and rows of one plane.
    run_ = g_.pixels();
    far_rows_ = run_ * (g_.ic + g_.oc) * int64_t{4} / lanes_ > cpu.info().l2_bytes;
    if (!out_.is_channels_last()) {
      panels_together_ = std::max<int64_t>(out_.block / kernels_.nr, 1);
      blocking_.panels = RoundUp(blocking_.panels, panels_together_);
      run_ = out_.pixels;
    }
    if (!operands_.computed) return;
    w_input_ = IndexOf(problem.group->inputs, operands_.w);
    if (operands_.b != ir::kAbsent) b_input_ = IndexOf(problem.group->inputs, operands_.b);
  }

  std::vector<PackRequest> packs() const override {
    std::vector<PackRequest> all;
    if (!operands_.computed) all.push_back(PackConstants());
    epilogue_.AppendPacks(all);
    return all;
  }

  int64_t workspace_bytes() const override {
    return ZeroBytes() + ComputedBytes() + lanes_ * LaneBytes();
  }

  Status WriteApart(const WindowRows& rows) override {
    if (epilogue_.addend() >= 0) return Unsupported("the addend lies as the output does");
    if (!out_.is_channels_last() || rows.row != out_.channels)
      return Unsupported("rows are not the channels of a pixel");
    out_ = ChannelsLastPixels(rows.pitch, out_.pixels);
    return OkStatus();
  }

  Status Launch(const LaunchArgs& args) const override {
    std::memset(args.workspace.host<std::byte>(), 0, ZeroBytes());
    if (operands_.computed) PackComputed(args);
    const elementwise::Binding binding = epilogue_.Bind(args, operands_.computed ? 0 : 1);
    if (g_.pixels() == 0) return OkStatus();
    const TaskGrid grid(g_.pixels() / run_, run_, g_.groups * weights_.panels(kernels_.nr),
                        blocking_, panels_together_);
    static_cast<CpuStream&>(args.stream).ParallelFor(grid.count(), [&](int64_t i, int lane) {
      RunTask(args, binding, grid.At(i), lane);
    });
    return OkStatus();
  }

 private:
  PackRequest PackConstants() const {
    std::string recipe = fmt::format("conv.g{}.nr{}", g_.groups, kernels_.nr);
    if (weights_.ic_block != 0) recipe += fmt::format(".c{}", weights_.ic_block);
    return RequestPanels(operands_, recipe + ".f32", weights_, kernels_.nr);
  }

  int64_t PanelElements() const { return g_.groups * weights_.group_elements(kernels_.nr); }
  int64_t BiasElements() const { return g_.groups * weights_.panels(kernels_.nr) * kernels_.nr; }
  int64_t ZeroBytes() const { return RoundUp(taps_.depth * 4, 64); }
  int64_t ComputedBytes() const {
    return operands_.computed ? (PanelElements() + BiasElements()) * 4 : 0;
  }
  /// Panels, then the padded bias of each group.
  float* Panels(const LaunchArgs& args) const {
    if (!operands_.computed) return args.packed[0].host<float>();
    return reinterpret_cast<float*>(args.workspace.host<std::byte>() + ZeroBytes());
  }

  void PackComputed(const LaunchArgs& args) const {
    const int64_t panels = weights_.panels(kernels_.nr), padded = panels * kernels_.nr;
    const int64_t panel_elements = weights_.ic * weights_.taps * kernels_.nr;
    const auto* w = args.inputs[w_input_].host<float>();
    float* out = Panels(args);
    static_cast<CpuStream&>(args.stream).ParallelFor(g_.groups * panels, [&](int64_t i, int) {
      PackWeightPanel(w, weights_, kernels_.nr, i / panels, i % panels, out + i * panel_elements);
    });
    std::fill_n(out + PanelElements(), BiasElements(), 0.F);
    if (b_input_ < 0) return;
    const auto* b = args.inputs[b_input_].host<float>();
    for (int64_t g = 0; g < g_.groups; ++g)
      std::copy_n(b + g * weights_.oc, weights_.oc, out + PanelElements() + g * padded);
  }

  int64_t PointerBytes() const {
    return RoundUp(blocking_.rows * taps_.taps * static_cast<int64_t>(sizeof(float*)), 64);
  }
  int64_t LaneBytes() const {
    return PointerBytes() + RoundUp(TapCopyBytes(g_, taps_, blocking_.rows, 4), 64);
  }

  /// Panels are counted over all groups.
  void RunTask(const LaunchArgs& args, const elementwise::Binding& binding,
               const TaskGrid::Task& task, int lane) const {
    const PixelRange range{task.row, task.rows};
    std::byte* scratch =
        args.workspace.host<std::byte>() + ZeroBytes() + ComputedBytes() + lane * LaneBytes();
    auto* pointers = reinterpret_cast<const float**>(scratch);
    if (!even_) {
      FillTapPointers<float>(g_, taps_, args.inputs[input_].host<float>(),
                             args.workspace.host<float>(), 0, range, kernels_.mr,
                             reinterpret_cast<float*>(scratch + PointerBytes()), pointers);
    }
    BlockArgs block;
    block.taps = taps_.taps;
    block.depth = g_.groups == 1 ? taps_.depth : weights_.ic;
    block.c_stride = out_.block;
    if (!out_.is_channels_last()) {
      block.c_block = out_.block;
      block.c_plane = out_.plane;
    }
    block.depth_block = blocking_.depth_block;
    block.far_rows = even_ && far_rows_;
    block.low = epilogue_.clamp().low;
    block.high = epilogue_.clamp().high;
    const int64_t panels = weights_.panels(kernels_.nr);
    for (int64_t panel = task.panel; panel < task.panel_end;) {
      const int64_t group = panel / panels, in_group = panel % panels;
      const int64_t count = std::min(task.panel_end - panel, panels - in_group);
      RunColumns(args, binding, range, group, in_group * kernels_.nr,
                 std::min(count * kernels_.nr, weights_.oc - in_group * kernels_.nr), pointers,
                 block);
      panel += count;
    }
  }

  void RunColumns(const LaunchArgs& args, const elementwise::Binding& binding, PixelRange range,
                  int64_t group, int64_t column, int64_t columns, const float** pointers,
                  BlockArgs block) const {
    TileSpan tiles[kMaxTiles];
    const float* panels = Panels(args);
    const int64_t channel = group * weights_.oc + column;
    block.a_offset = group * weights_.ic;
    block.b = panels + group * weights_.group_elements(kernels_.nr) + column * weights_.depth();
    block.bias =
        panels + PanelElements() + group * weights_.panels(kernels_.nr) * kernels_.nr + column;
    block.columns = columns;
    const int64_t image = range.begin / out_.pixels, pixel = range.begin % out_.pixels;
    float* y = args.outputs[0].host<float>();
    float* c = y + out_.Offset(image, pixel, channel);
    if (epilogue_.addend() >= 0)
      block.addend = args.inputs[epilogue_.addend()].host<float>() + (c - y);
    if (even_) {
      const float* x = args.inputs[input_].host<float>() + range.begin * taps_.in.block;
      block.tiles =
          CutTiles(kernels_.mr, {x, taps_.in.block}, range.rows, c, out_.block, pointers, tiles);
    } else {
      block.tiles = CutTiles(kernels_.mr, pointers, range.rows, taps_.taps, c, out_.block, tiles);
    }
    RunBlock(kernels_, block);
    FinishPixels(epilogue_, binding, out_, {image, pixel, range.rows, channel, columns}, y);
  }

  ConvOperands operands_;
  size_t input_, w_input_ = 0;
  int b_input_ = -1;
  ConvGeometry g_;
  PixelLayout out_;              // of the tensor that the output is a window of, where it is one
  int64_t run_ = 0;              // pixels that follow each other in the output
  int64_t panels_together_ = 1;  // a block of the output's channels
  TapPlan taps_;
  bool even_;      // rows of the product lie evenly in the input
  bool far_rows_;  // when they are read, the second-level cache has lost them
  WeightShape weights_;
  const MicroKernels& kernels_;
  Epilogue epilogue_;
  Blocking blocking_;
  int lanes_;
};

/// Pointers per task: 128 KiB of them still leave room for data in the second-level cache.
constexpr int64_t kMaxPointers = 16384;

/// Sizes that the blocking follows from.
struct Sizes {
  int64_t max_tiles, all_panels;
  Blocking usual;
};

Sizes ReadSizes(const ConvGeometry& g, const PixelLayout& in, int threads, const CpuDevice& cpu) {
  const MicroKernels& kernels = GetMicroKernels();
  Sizes sizes;
  sizes.max_tiles =
      std::clamp<int64_t>(kMaxPointers / PlanTaps(g, in).taps / kernels.mr, 1, kMaxTiles);
  sizes.all_panels = g.groups * CeilDiv(g.oc / g.groups, kernels.nr);
  sizes.usual =
      ChooseBlocking(cpu.info(), kernels.mr, kernels.nr, g.pixels(), sizes.all_panels * kernels.nr,
                     g.ic / g.groups * g.taps(), threads, sizes.max_tiles * kernels.mr);
  return sizes;
}

ParamSpace Space(const Problem& problem, const Conv& conv, const Device& device) {
  const ConvPixels pixels = ReadConvPixels(problem, conv.operands.x).value();
  const Sizes sizes =
      ReadSizes(conv.g, pixels.in, problem.threads, static_cast<const CpuDevice&>(device));
  const int mr = GetMicroKernels().mr;
  return {BlockingTunables(sizes.usual, mr, sizes.max_tiles, sizes.all_panels),
          BlockingParams(sizes.usual, mr),
          {}};
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Conv& conv,
                                                const Params& params, const Device& device) {
  const auto& cpu = static_cast<const CpuDevice&>(device);
  ASSIGN_OR_RETURN(const ConvPixels pixels, ReadConvPixels(problem, conv.operands.x));
  ASSIGN_OR_RETURN(Epilogue epilogue, Epilogue::CompileSum(*problem.group, problem.states));
  const Sizes sizes = ReadSizes(conv.g, pixels.in, problem.threads, cpu);
  const Blocking blocking =
      ReadBlocking(params, sizes.usual, GetMicroKernels().mr, sizes.max_tiles);
  return std::unique_ptr<PreparedKernel>(
      new ConvGemm(problem, conv.operands, conv.g, pixels, std::move(epilogue), blocking, cpu));
}

constexpr Family<Conv> kFamily{.read = Read,
                               .states = States,
                               .prepare = Prepare,
                               .params = Space,
                               .taste = Always<10>,
                               .takes_near_extents = true};
constexpr Family<Conv> kBlockedFamily{.read = ReadImages,
                                      .states = BlockedStates,
                                      .prepare = Prepare,
                                      .params = Space,
                                      .taste = Always<8>};
constexpr Family<Conv> kRowFamily{.read = ReadFewChannels,
                                  .states = RowStates,
                                  .prepare = Prepare,
                                  .params = Space,
                                  .taste = Always<8>};

}  // namespace

extern const KernelDesc kCpuConvGemmNhwc;
const KernelDesc kCpuConvGemmNhwc = {.name = "cpu.conv.gemm.nhwc", .match = MatchAs<kFamily>};

// Below the channels-last kernels: the default plan keeps to one layout.
extern const KernelDesc kCpuConvGemmNchwc;
const KernelDesc kCpuConvGemmNchwc = {.name = "cpu.conv.gemm.nchwc",
                                      .match = MatchAs<kBlockedFamily>};

extern const KernelDesc kCpuConvGemmRow;
const KernelDesc kCpuConvGemmRow = {.name = "cpu.conv.gemm.row", .match = MatchAs<kRowFamily>};

}  // namespace fettle::kernels
