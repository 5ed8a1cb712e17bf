// cpu.conv.gemm.nhwc: convolution as a product of row pointers and packed weights (the indirect
// convolution of Dukhan, 2019): no im2col. Any kernel, stride, dilation and group count.
#include <algorithm>
#include <cstring>

#include "kernels/cpu/conv/geometry.h"
#include "kernels/cpu/conv/operands.h"
#include "kernels/cpu/epilogue/epilogue.h"
#include "kernels/cpu/gemm/block.h"
#include "kernels/cpu/gemm/pack.h"

namespace fettle::kernels {
namespace {

Result<std::vector<StateAssignment>> Candidates(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(const ConvOperands operands, ReadConvOperands(group, "Conv", true));
  RETURN_IF_ERROR(ReadConvGeometry(group, group.nodes()[0]).status());
  ASSIGN_OR_RETURN(StateAssignment states, ConvStates(group, operands));
  RETURN_IF_ERROR(Epilogue::Compile(group, states).status());
  return std::vector<StateAssignment>{std::move(states)};
}

/// Row tiles of one task.
constexpr int64_t kMaxTiles = 64;

class ConvGemm final : public PreparedKernel {
 public:
  ConvGemm(const Problem& problem, const ConvOperands& operands, const ConvGeometry& geometry,
           Epilogue epilogue, const Blocking& blocking, int lanes)
      : operands_(operands),
        input_(static_cast<size_t>(IndexOf(problem.group->inputs, operands.x))),
        g_(geometry),
        taps_(PlanTaps(geometry)),
        kernels_(GetMicroKernels()),
        epilogue_(std::move(epilogue)),
        blocking_(blocking),
        lanes_(lanes) {
    weights_ = {
        .groups = g_.groups, .oc = g_.oc / g_.groups, .ic = g_.ic / g_.groups, .taps = g_.taps()};
    if (!operands_.computed) return;
    w_input_ = static_cast<size_t>(IndexOf(problem.group->inputs, operands_.w));
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

  Status Launch(const LaunchArgs& args) const override {
    std::memset(args.workspace.host<std::byte>(), 0, static_cast<size_t>(ZeroBytes()));
    if (operands_.computed) PackComputed(args);
    const elementwise::Binding binding = epilogue_.Bind(args, operands_.computed ? 0 : 1);
    const int64_t row_tasks = CeilDiv(g_.pixels(), blocking_.rows);
    const int64_t column_tasks =
        CeilDiv(g_.groups * weights_.panels(kernels_.nr), blocking_.panels);
    static_cast<CpuStream&>(args.stream)
        .ParallelFor(row_tasks * column_tasks, [&](int64_t task, int lane) {
          const int64_t begin = task / column_tasks * blocking_.rows;
          RunTask(args, binding, {begin, std::min(blocking_.rows, g_.pixels() - begin)},
                  task % column_tasks * blocking_.panels, lane);
        });
    return OkStatus();
  }

 private:
  PackRequest PackConstants() const {
    PackRequest request;
    request.constants = {operands_.w};
    if (operands_.b != ir::kAbsent) request.constants.push_back(operands_.b);
    request.recipe = fmt::format("conv.g{}.nr{}.f32{}", g_.groups, kernels_.nr,
                                 operands_.b == ir::kAbsent ? "" : ".bias");
    request.bytes = (PanelElements() + BiasElements()) * 4;
    request.pack = [weights = weights_, nr = kernels_.nr, panel_elements = PanelElements()](
                       std::span<const Constant* const> constants, std::byte* out) {
      auto* panels = reinterpret_cast<float*>(out);
      PackWeights(*constants[0], weights, nr, 1, panels);
      const int64_t padded = weights.panels(nr) * nr;
      for (int64_t g = 0; g < weights.groups; ++g) {
        PackBias(constants.size() > 1 ? constants[1] : nullptr, g * weights.oc, weights.oc, padded,
                 1, panels + panel_elements + g * padded);
      }
      return OkStatus();
    };
    return request;
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
    const auto* b = args.inputs[static_cast<size_t>(b_input_)].host<float>();
    for (int64_t g = 0; g < g_.groups; ++g)
      std::copy_n(b + g * weights_.oc, weights_.oc, out + PanelElements() + g * padded);
  }

  int64_t PointerBytes() const {
    return RoundUp(blocking_.rows * taps_.taps * static_cast<int64_t>(sizeof(float*)), 64);
  }
  int64_t LaneBytes() const {
    return PointerBytes() + RoundUp(TapCopyBytes(g_, taps_, blocking_.rows, 4), 64);
  }

  /// Pixels `range`, panels from `first` (counted over all groups).
  void RunTask(const LaunchArgs& args, const elementwise::Binding& binding, PixelRange range,
               int64_t first, int lane) const {
    std::byte* scratch =
        args.workspace.host<std::byte>() + ZeroBytes() + ComputedBytes() + lane * LaneBytes();
    auto* pointers = reinterpret_cast<const float**>(scratch);
    FillTapPointers<float>(g_, taps_, args.inputs[input_].host<float>(),
                           args.workspace.host<float>(), 0, range, kernels_.mr,
                           reinterpret_cast<float*>(scratch + PointerBytes()), pointers);
    BlockArgs block;
    block.taps = taps_.taps;
    block.depth = taps_.rows ? taps_.depth : weights_.ic;
    block.c_stride = g_.oc;
    block.depth_block = blocking_.depth_block;
    block.low = epilogue_.clamp().low;
    block.high = epilogue_.clamp().high;
    const int64_t panels = weights_.panels(kernels_.nr);
    const int64_t end = std::min(first + blocking_.panels, g_.groups * panels);
    for (int64_t panel = first; panel < end;) {
      const int64_t group = panel / panels, in_group = panel % panels;
      const int64_t count = std::min(end - panel, panels - in_group);
      RunColumns(args, binding, range, group, in_group * kernels_.nr,
                 std::min(count * kernels_.nr, weights_.oc - in_group * kernels_.nr), pointers,
                 block);
      panel += count;
    }
  }

  void RunColumns(const LaunchArgs& args, const elementwise::Binding& binding, PixelRange range,
                  int64_t group, int64_t column, int64_t columns, const float* const* pointers,
                  BlockArgs block) const {
    TileSpan tiles[kMaxTiles];
    const float* panels = Panels(args);
    const int64_t channel = group * weights_.oc + column;
    block.a_offset = group * weights_.ic;
    block.b = panels + group * weights_.group_elements(kernels_.nr) +
              column * weights_.ic * weights_.taps;
    block.bias =
        panels + PanelElements() + group * weights_.panels(kernels_.nr) * kernels_.nr + column;
    block.columns = columns;
    float* c = args.outputs[0].host<float>() + range.begin * g_.oc + channel;
    block.tiles = CutTiles(kernels_.mr, pointers, range.rows, taps_.taps, c, g_.oc, tiles);
    RunBlock(kernels_, block);
    elementwise::Tile tile{.row = range.begin, .rows = range.rows, .col = channel, .cols = columns};
    tile.running = c;
    tile.running_stride = g_.oc;
    epilogue_.Run(binding, tile);
  }

  ConvOperands operands_;
  size_t input_, w_input_ = 0;
  int b_input_ = -1;
  ConvGeometry g_;
  TapPlan taps_;
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

Sizes ReadSizes(const ConvGeometry& g, const CpuDevice& cpu) {
  const MicroKernels& kernels = GetMicroKernels();
  Sizes sizes;
  sizes.max_tiles = std::clamp<int64_t>(kMaxPointers / PlanTaps(g).taps / kernels.mr, 1, kMaxTiles);
  sizes.all_panels = g.groups * CeilDiv(g.oc / g.groups, kernels.nr);
  sizes.usual = ChooseBlocking(cpu.info(), kernels.mr, kernels.nr, g.pixels(),
                               sizes.all_panels * kernels.nr, g.ic / g.groups * g.taps(),
                               cpu.pool().threads(), sizes.max_tiles * kernels.mr);
  return sizes;
}

Sizes ReadSizes(const Problem& problem, const Device& device) {
  return ReadSizes(ReadConvGeometry(*problem.group, problem.node()).value(),
                   static_cast<const CpuDevice&>(device));
}

std::vector<Tunable> Tunables(const Problem& problem, const Device& device) {
  const Sizes sizes = ReadSizes(problem, device);
  return BlockingTunables(sizes.usual, GetMicroKernels().mr, sizes.max_tiles, sizes.all_panels);
}

Params Defaults(const Problem& problem, const Device& device) {
  return BlockingParams(ReadSizes(problem, device).usual, GetMicroKernels().mr);
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Params& params,
                                                const Device& device) {
  const auto& cpu = static_cast<const CpuDevice&>(device);
  ASSIGN_OR_RETURN(const ConvOperands operands, ReadConvOperands(*problem.group, "Conv", true));
  ASSIGN_OR_RETURN(const ConvGeometry g, ReadConvGeometry(*problem.group, problem.node()));
  ASSIGN_OR_RETURN(Epilogue epilogue, Epilogue::Compile(*problem.group, problem.states));
  const Blocking blocking = ReadBlocking(params, ReadSizes(g, cpu).usual, GetMicroKernels().mr);
  return std::unique_ptr<PreparedKernel>(
      new ConvGemm(problem, operands, g, std::move(epilogue), blocking, cpu.pool().threads()));
}

}  // namespace

extern const KernelDesc kCpuConvGemmNhwc;
const KernelDesc kCpuConvGemmNhwc = {.name = "cpu.conv.gemm.nhwc",
                                     .preference = 10,
                                     .candidates = Candidates,
                                     .prepare = Prepare,
                                     .tunables = Tunables,
                                     .default_params = Defaults};

}  // namespace fettle::kernels
