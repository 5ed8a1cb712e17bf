// compiled: small
// Convolution as a product of row pointers and packed weights (the indirect convolution of Dukhan,
// 2019): no im2col. Any kernel, stride and dilation.
//   cpu.conv.gemm.nhwc    channels-last, any group count
//   cpu.conv.gemm.nchwc   from or to blocks of channels, or both
//   cpu.conv.gemm.row     first layers: from a row-major input of few channels
#include <algorithm>

#include "kernels/cpu/conv/at_extents.h"
#include "kernels/cpu/conv/gemm_sizes.h"
#include "kernels/cpu/conv/taps.h"
#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/gemm/block.h"
#include "kernels/cpu/gemm/pack.h"
#include "kernels/cpu/product/tasks.h"
#include "kernels/family.h"
#include "kernels/join_windows.h"
#include "kernels/takes_extents.h"

namespace fettle::kernels {
namespace {

/// A convolution with constant or computed weights.
struct Conv {
  ConvOperands operands;
  ConvGeometry read, g;  // as it was read, and in lines
};

Result<Conv> Read(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(const ConvOperands operands, ReadConvOperands(group, "Conv", true));
  ASSIGN_OR_RETURN(const ConvGeometry g, ReadConvGeometry(group, group.nodes()[0]));
  return Conv{operands, g, AsLines(g)};
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
  return Conv{operands, g, AsLines(g)};
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

class ConvGemm final : public CpuKernel, public WritesWindow, public MovesToExtents<ConvGemm> {
 public:
  ConvGemm(const Problem& problem, const Conv& conv, const ConvPixels& pixels, Epilogue epilogue,
           const Blocking& blocking, const CpuInfo& cpu)
      : CpuKernel(problem.threads),
        operands_(conv.operands),
        input_(IndexOf(problem.group->inputs, conv.operands.x)),
        read_(conv.read),
        g_(conv.g),
        out_(pixels.out),
        taps_(PlanTaps(conv.g, pixels.in)),
        kernels_(&GetMicroKernels()),
        epilogue_(std::move(epilogue)) {
    weights_ = ConvWeightShape(g_, pixels.in, !operands_.computed && epilogue_.addend() < 0);
    SetSizes(blocking, cpu);
    if (!operands_.computed) return;
    computed_ = PerRun<float>(PanelElements() + BiasElements());
    w_input_ = IndexOf(problem.group->inputs, operands_.w);
    if (operands_.b != ir::kAbsent) b_input_ = IndexOf(problem.group->inputs, operands_.b);
  }

  std::vector<PackRequest> packs() const override {
    std::vector<PackRequest> all;
    if (!operands_.computed) all.push_back(PackConstants());
    epilogue_.AppendPacks(all);
    return all;
  }

  bool takes_ones() const override { return epilogue_.has_numbers_alone(); }
  bool MoveTo(const Problem& problem, const Device& device) override;

  Status WriteApart(const WindowRows& rows) override {
    if (epilogue_.addend() >= 0) return Unsupported("the addend lies as the output does");
    if (!out_.is_channels_last() || rows.row != out_.channels)
      return Unsupported("rows are not the channels of a pixel");
    out_ = ChannelsLastPixels(rows.pitch, out_.pixels);
    return OkStatus();
  }

  Status Run(const CpuLaunch& args) const override {
    if (operands_.computed) PackComputed(args);
    const elementwise::Binding binding = epilogue_.Bind(args, operands_.computed ? 0 : 1);
    if (g_.pixels() == 0) return OkStatus();
    const TaskGrid grid(g_.pixels() / run_, run_, weights_.groups * weights_.panels(kernels_->nr),
                        blocking_, panels_together_);
    args.stream.ParallelFor(grid.count(),
                            [&](int64_t i, int lane) { RunTask(args, binding, grid.At(i), lane); });
    return OkStatus();
  }

 private:
  /// What follows from the geometry, where pixels lie, and the blocking.
  void SetSizes(const Blocking& blocking, const CpuInfo& cpu) {
    blocking_ = blocking;
    even_ = g_.IsPointwise() && taps_.in.is_channels_last();
    // Tasks write whole blocks of channels, and rows of one plane.
    run_ = g_.pixels();
    far_rows_ = run_ * (g_.ic + g_.oc) * int64_t{4} / lanes() > cpu.l2_bytes;
    if (!out_.is_channels_last()) {
      panels_together_ = std::max<int64_t>(out_.block / kernels_->nr, 1);
      blocking_.panels = RoundUp(blocking_.panels, panels_together_);
      run_ = out_.pixels;
    }
    zeros_ = Zeroed<float>(taps_.depth);
    pointers_ = PerLane<const float*>(blocking_.rows * taps_.taps);
    copies_ = PerLane<float>(TapCopyElements(g_, taps_, blocking_.rows));
  }

  PackRequest PackConstants() const {
    std::string recipe = fmt::format("conv.g{}.nr{}", g_.groups, kernels_->nr);
    if (weights_.joined > 1) recipe += fmt::format(".j{}", weights_.joined);
    if (weights_.ic_block != 0) recipe += fmt::format(".c{}", weights_.ic_block);
    return RequestPanels(operands_, recipe + ".f32", weights_, kernels_->nr);
  }

  int64_t PanelElements() const { return weights_.groups * weights_.group_elements(kernels_->nr); }
  int64_t BiasElements() const {
    return weights_.groups * weights_.panels(kernels_->nr) * kernels_->nr;
  }
  /// Panels, then the padded bias of each group.
  float* Panels(const CpuLaunch& args) const {
    return operands_.computed ? args.At(computed_) : args.packed[0].host<float>();
  }

  void PackComputed(const CpuLaunch& args) const {
    const int64_t panels = weights_.panels(kernels_->nr), padded = panels * kernels_->nr;
    const int64_t panel_elements = weights_.ic * weights_.taps * kernels_->nr;
    const auto* w = args.inputs[w_input_].host<float>();
    float* out = Panels(args);
    args.stream.ParallelFor(g_.groups * panels, [&](int64_t i, int) {
      PackWeightPanel(w, weights_, kernels_->nr, i / panels, i % panels, out + i * panel_elements);
    });
    std::fill_n(out + PanelElements(), BiasElements(), 0.F);
    if (b_input_ < 0) return;
    const auto* b = args.inputs[b_input_].host<float>();
    for (int64_t g = 0; g < g_.groups; ++g)
      std::copy_n(b + g * weights_.oc, weights_.oc, out + PanelElements() + g * padded);
  }

  /// Panels are counted over all groups.
  void RunTask(const CpuLaunch& args, const elementwise::Binding& binding,
               const TaskGrid::Task& task, int lane) const {
    const PixelRange range{task.row, task.rows};
    const float** pointers = args.At(pointers_, lane);
    if (!even_) {
      FillTapPointers<float>(g_, taps_, args.inputs[input_].host<float>(), args.At(zeros_), 0,
                             range, kernels_->mr, args.At(copies_, lane), pointers);
    }
    BlockArgs block;
    block.taps = taps_.taps;
    block.depth = g_.groups == 1 ? taps_.depth : weights_.ic;
    block.c_stride = out_.block;
    if (!out_.is_channels_last()) {
      block.c_block = out_.block;
      block.c_plane = out_.plane;
    }
    block.joined = weights_.joined;
    block.depth_block = blocking_.depth_block;
    block.far_rows = even_ && far_rows_;
    block.low = epilogue_.clamp().low;
    block.high = epilogue_.clamp().high;
    const int nr = kernels_->nr;
    ForEachGroup(task.panel, task.panel_end, weights_.panels(nr),
                 [&](int64_t group, int64_t panel, int64_t panel_end) {
                   const int64_t columns = std::min(panel_end * nr, weights_.oc) - panel * nr;
                   RunColumns(args, binding, range, group, panel * nr, columns, pointers, block);
                 });
  }

  void RunColumns(const CpuLaunch& args, const elementwise::Binding& binding, PixelRange range,
                  int64_t group, int64_t column, int64_t columns, const float** pointers,
                  BlockArgs block) const {
    TileSpan tiles[kMostConvTiles];
    const float* panels = Panels(args);
    const int64_t channel = group * weights_.oc + column;
    block.a_offset = group * weights_.ic;
    block.b = panels + group * weights_.group_elements(kernels_->nr) + column * weights_.depth();
    block.bias =
        panels + PanelElements() + group * weights_.panels(kernels_->nr) * kernels_->nr + column;
    block.columns = columns;
    const int64_t image = range.begin / out_.pixels, pixel = range.begin % out_.pixels;
    float* y = args.outputs[0].host<float>();
    float* c = y + out_.Offset(image, pixel, channel);
    if (epilogue_.addend() >= 0)
      block.addend = args.inputs[epilogue_.addend()].host<float>() + (c - y);
    if (even_) {
      const float* x = args.inputs[input_].host<float>() + range.begin * taps_.in.block;
      block.tiles =
          CutTiles(kernels_->mr, {x, taps_.in.block}, range.rows, c, out_.block, pointers, tiles);
    } else {
      block.tiles = CutTiles(kernels_->mr, pointers, range.rows, taps_.taps, c, out_.block, tiles);
    }
    RunBlock(*kernels_, block);
    FinishPixels(epilogue_, binding, out_, {image, pixel, range.rows, channel, columns}, y);
  }

  ConvOperands operands_;
  size_t input_, w_input_ = 0;
  int b_input_ = -1;
  ConvGeometry read_, g_;
  PixelLayout out_;              // of the tensor that the output is a window of, where it is one
  int64_t run_ = 0;              // pixels that follow each other in the output
  int64_t panels_together_ = 1;  // a block of the output's channels
  TapPlan taps_;
  bool even_ = false;      // rows of the product lie evenly in the input
  bool far_rows_ = false;  // when they are read, the second-level cache has lost them
  WeightShape weights_;
  const MicroKernels* kernels_;
  Epilogue epilogue_;
  Blocking blocking_;
  RunScratch<float> zeros_, computed_;
  LaneScratch<const float*> pointers_;
  LaneScratch<float> copies_;
};

ParamSpace Space(const Problem& problem, const Conv& conv, const Device& device) {
  const ConvPixels pixels = ReadConvPixels(problem, conv.operands.x).value();
  const ConvSizes sizes =
      ReadConvSizes(conv.g, pixels.in, problem.threads, static_cast<const CpuDevice&>(device));
  const int mr = GetMicroKernels().mr;
  return {BlockingTunables(sizes.usual, mr, sizes.max_tiles, sizes.all_panels),
          BlockingParams(sizes.usual, mr), nullptr};
}

ConvGemm MakeKernel(const Problem& problem, const Conv& conv, const ConvPixels& pixels,
                    Epilogue epilogue, const Params& params, const Device& device) {
  const auto& cpu = static_cast<const CpuDevice&>(device);
  const ConvSizes sizes = ReadConvSizes(conv.g, pixels.in, problem.threads, cpu);
  const int mr = GetMicroKernels().mr;
  return ConvGemm(problem, conv, pixels, std::move(epilogue),
                  ReadBlocking(params, sizes.usual, mr, sizes.max_tiles), cpu.info());
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Conv& conv,
                                                const Params& params, const Device& device) {
  ASSIGN_OR_RETURN(const ConvPixels pixels, ReadConvPixels(problem, conv.operands.x));
  ASSIGN_OR_RETURN(Epilogue epilogue, Epilogue::CompileSum(*problem.group, problem.states));
  return std::unique_ptr<PreparedKernel>(std::make_unique<ConvGemm>(
      MakeKernel(problem, conv, pixels, std::move(epilogue), params, device)));
}

bool ConvGemm::MoveTo(const Problem& problem, const Device& device) {
  if (operands_.computed) return false;
  const auto at = AtExtents(read_, {taps_.in, out_}, epilogue_, *problem.group);
  if (!at) return false;
  const auto& cpu = static_cast<const CpuDevice&>(device);
  read_ = at->g;
  g_ = AsLines(read_);
  taps_ = PlanTaps(g_, at->pixels.in);
  out_ = at->pixels.out;
  ForgetScratch(problem.threads);
  const WeightShape joined =
      weights_.joined > 1 || g_.groups == 1 ? weights_ : ConvWeightShape(g_, taps_.in, true);
  SetSizes(ReadConvSizes(g_, taps_, joined, problem.threads, cpu).usual, cpu.info());
  return true;
}

constexpr Family<Conv> FamilyOf(decltype(Family<Conv>::read) read,
                                decltype(Family<Conv>::states) states,
                                decltype(Family<Conv>::taste) taste) {
  return {.read = read,
          .states = states,
          .prepare = Prepare,
          .params = Space,
          .taste = taste,
          .takes_near_extents = true};
}
constexpr Family<Conv> kFamily = FamilyOf(Read, States, Always<10>);
constexpr Family<Conv> kBlockedFamily = FamilyOf(ReadImages, BlockedStates, Always<8>);
constexpr Family<Conv> kRowFamily = FamilyOf(ReadFewChannels, RowStates, Always<8>);

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
