// compiled: small
// cpu.conv_transpose.gemm.nhwc: each phase of the output as a product of row pointers and packed
// weights. Every output is written once; nothing is scattered.
#include <algorithm>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/conv/at_extents.h"
#include "kernels/cpu/conv/operands.h"
#include "kernels/cpu/conv_transpose/phases.h"
#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/epilogue/epilogue.h"
#include "kernels/cpu/gemm/block.h"
#include "kernels/cpu/gemm/pack.h"
#include "kernels/family.h"
#include "kernels/takes_extents.h"

namespace fettle::kernels {
namespace {

/// The phases are listed, so that a huge stride would need as much memory.
constexpr int64_t kMaxPhases = 4096;

struct Conv {
  ConvOperands operands;
  ConvGeometry g;
};

Result<Conv> Read(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(const ConvOperands operands, ReadConvOperands(group, "ConvTranspose"));
  ASSIGN_OR_RETURN(const ConvGeometry g, ReadTransposeGeometry(group, group.nodes()[0]));
  for (int64_t stride : g.stride) {
    if (stride > kMaxPhases) return Unsupported("a stride over {}", kMaxPhases);
  }
  return Conv{operands, g};
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Conv&, const Device&) {
  ASSIGN_OR_RETURN(StateAssignment states, ChannelsLastStates(group));
  RETURN_IF_ERROR(Epilogue::Compile(group, states).status());
  return std::vector<StateAssignment>{std::move(states)};
}

class ConvTransposeGemm final : public CpuKernel, public TakesExtents {
 public:
  ConvTransposeGemm(const Problem& problem, const ConvOperands& operands,
                    const ConvGeometry& geometry, Epilogue epilogue, const CpuInfo& cpu)
      : CpuKernel(problem.threads),
        operands_(operands),
        input_(IndexOf(problem.group->inputs, operands.x)),
        g_(geometry),
        kernels_(GetMicroKernels()),
        epilogue_(std::move(epilogue)) {
    weights_ = {.groups = g_.groups,
                .oc = g_.oc / g_.groups,
                .ic = g_.ic / g_.groups,
                .taps = g_.taps(),
                .transposed = true};
    weights_ = JoinGroups(std::move(weights_), kernels_.nr);
    for (size_t axis = 0; axis < 3; ++axis) {
      phases_[axis] = AxisPhases(g_, axis);
      for (const AxisPhase& phase : phases_[axis])
        max_taps_[axis] = std::max(max_taps_[axis], static_cast<int64_t>(phase.taps.size()));
    }
    PlacePhases();
    PlanTasks(cpu);
    const int64_t tiles = lines_per_task_ * CeilDiv(CeilDiv(g_.out[2], g_.stride[2]), kernels_.mr);
    tiles_ = PerLane<TileSpan>(tiles);
    pointers_ = PerLane<const float*>(tiles * kernels_.mr * MostTaps());
  }

  std::vector<PackRequest> packs() const override {
    std::string recipe = fmt::format(
        "conv_transpose.g{}.j{}.s{}x{}x{}.d{}x{}x{}.p{}x{}x{}.nr{}.f32", g_.groups, weights_.joined,
        g_.stride[0], g_.stride[1], g_.stride[2], g_.dilation[0], g_.dilation[1], g_.dilation[2],
        g_.pad[0] % g_.stride[0], g_.pad[1] % g_.stride[1], g_.pad[2] % g_.stride[2], kernels_.nr);
    std::vector<PackRequest> all{
        RequestPanels(operands_, std::move(recipe), weights_, kernels_.nr)};
    epilogue_.AppendPacks(all);
    return all;
  }

  std::unique_ptr<PreparedKernel> At(const Problem& problem, const Device& device) const override {
    Epilogue epilogue = epilogue_;
    const PixelLayout out = ChannelsLastPixels(g_.oc, g_.image_pixels());
    const auto at = AtExtents(g_, {out, out}, epilogue, *problem.group);
    if (!at) return nullptr;
    return std::make_unique<ConvTransposeGemm>(problem, operands_, at->g, std::move(epilogue),
                                               static_cast<const CpuDevice&>(device).info());
  }

  Status Run(const CpuLaunch& args) const override {
    const elementwise::Binding binding = epilogue_.Bind(args, 1);
    const auto lines = static_cast<int64_t>(lines_.size());
    args.stream.ParallelFor(lines * group_tasks_, [&](int64_t task, int lane) {
      RunTask(args, binding, lines_[task / group_tasks_], task % group_tasks_ * panels_per_task_,
              lane);
    });
    return OkStatus();
  }

 private:
  /// Output lines of one image that are equal modulo the stride: od = phase_d + stride_d * j, and
  /// so for oh; `count` lines from flattened j = first on.
  struct Lines {
    int64_t image, phase_d, phase_h, first, count;
  };

  int64_t GroupColumns() const { return weights_.panels(kernels_.nr) * kernels_.nr; }
  int64_t PanelElements() const { return weights_.groups * weights_.group_elements(kernels_.nr); }
  int64_t MostTaps() const {
    return std::max<int64_t>(1, max_taps_[0] * max_taps_[1] * max_taps_[2]);
  }
  const AxisPhase& Phase(size_t axis, int64_t phase) const { return phases_[axis][phase]; }
  size_t PhaseIndex(int64_t d, int64_t h, int64_t w) const {
    return (d * g_.stride[1] + h) * g_.stride[2] + w;
  }

  /// Orders the taps of the packed weights by phase, so that those of one phase are neighbours.
  void PlacePhases() {
    weights_.tap_position.assign(g_.taps(), 0);
    int64_t position = 0;
    for (const AxisPhase& d : phases_[0]) {
      for (const AxisPhase& h : phases_[1]) {
        for (const AxisPhase& w : phases_[2]) {
          phase_start_.push_back(position);
          for (const auto& kd : d.taps) {
            for (const auto& kh : h.taps) {
              for (const auto& kw : w.taps) {
                const int64_t tap =
                    (kd.kernel * g_.kernel[1] + kh.kernel) * g_.kernel[2] + kw.kernel;
                weights_.tap_position[tap] = position++;
              }
            }
          }
        }
      }
    }
  }

  void PlanTasks(const CpuInfo& info) {
    const int64_t line_rows = std::max<int64_t>(1, CeilDiv(g_.out[2], g_.stride[2]));
    const int64_t rows = g_.batch * g_.out[0] * g_.out[1] * line_rows;
    const int64_t all_panels = weights_.groups * weights_.panels(kernels_.nr);
    const Blocking blocking =
        ChooseBlocking(info, kernels_.mr, kernels_.nr, rows, all_panels * kernels_.nr,
                       weights_.ic * MostTaps(), lanes(), int64_t{16} * kernels_.mr);
    depth_block_ = blocking.depth_block;
    lines_per_task_ = std::max<int64_t>(1, blocking.rows / line_rows);
    panels_per_task_ = blocking.panels;
    group_tasks_ = CeilDiv(all_panels, panels_per_task_);
    for (int64_t image = 0; image < g_.batch; ++image) {
      for (int64_t d = 0; d < g_.stride[0]; ++d) {
        for (int64_t h = 0; h < g_.stride[1]; ++h) {
          const int64_t count = Phase(0, d).positions * Phase(1, h).positions;
          for (int64_t first = 0; first < count; first += lines_per_task_)
            lines_.push_back({image, d, h, first, std::min(lines_per_task_, count - first)});
        }
      }
    }
  }

  /// The flattened output line (without width) of the i-th line.
  int64_t OutputLine(const Lines& lines, int64_t i) const {
    const int64_t per_depth = Phase(1, lines.phase_h).positions, j = lines.first + i;
    const int64_t od = lines.phase_d + j / per_depth * g_.stride[0];
    const int64_t oh = lines.phase_h + j % per_depth * g_.stride[1];
    return (lines.image * g_.out[0] + od) * g_.out[1] + oh;
  }

  /// Pointers of `rows` positions from jw on, [tap][row].
  void FillTile(const CpuLaunch& args, const Lines& lines, int64_t i, const AxisPhase& width,
                int64_t jw, int64_t rows, const float** out) const {
    const auto* x = args.inputs[input_].host<float>();
    const float* zeros = args.At(zeros_);
    const int64_t per_depth = Phase(1, lines.phase_h).positions, j = lines.first + i;
    for (const auto& d : Phase(0, lines.phase_d).taps) {
      const int64_t id = j / per_depth + d.offset;
      for (const auto& h : Phase(1, lines.phase_h).taps) {
        const int64_t ih = j % per_depth + h.offset;
        const bool inside = id >= 0 && id < g_.in[0] && ih >= 0 && ih < g_.in[1];
        const int64_t line = ((lines.image * g_.in[0] + id) * g_.in[1] + ih) * g_.in[2];
        for (const auto& w : width.taps) {
          for (int64_t r = 0; r < rows; ++r) {
            const int64_t iw = jw + r + w.offset;
            *out++ = inside && iw >= 0 && iw < g_.in[2] ? x + (line + iw) * g_.ic : zeros;
          }
        }
      }
    }
  }

  void RunTask(const CpuLaunch& args, const elementwise::Binding& binding, const Lines& lines,
               int64_t first_panel, int lane) const {
    for (int64_t w = 0; w < g_.stride[2]; ++w) RunPhase(args, lines, w, first_panel, lane);
    ForEachGroup(first_panel, [&](int64_t group, int64_t column, int64_t columns) {
      const int64_t channel = group * weights_.oc + column;
      for (int64_t i = 0; i < lines.count; ++i) {
        elementwise::Tile tile{.row = OutputLine(lines, i) * g_.out[2], .rows = g_.out[2]};
        tile.col = channel;
        tile.cols = columns;
        tile.running = args.outputs[0].host<float>() + tile.row * g_.oc + channel;
        tile.running_stride = g_.oc;
        epilogue_.Run(binding, tile);
      }
    });
  }

  /// Calls f(group, first column, columns) for the panels of a task.
  template <typename F>
  void ForEachGroup(int64_t first_panel, const F& f) const {
    const int64_t panels = weights_.panels(kernels_.nr);
    const int64_t end = std::min(first_panel + panels_per_task_, weights_.groups * panels);
    for (int64_t panel = first_panel; panel < end;) {
      const int64_t in_group = panel % panels, count = std::min(end - panel, panels - in_group);
      const int64_t column = in_group * kernels_.nr;
      f(panel / panels, column, std::min(count * kernels_.nr, weights_.oc - column));
      panel += count;
    }
  }

  void RunPhase(const CpuLaunch& args, const Lines& lines, int64_t w, int64_t first_panel,
                int lane) const {
    const AxisPhase& width = Phase(2, w);
    TileSpan* tiles = args.At(tiles_, lane);
    const float** pointers = args.At(pointers_, lane);
    const auto taps = static_cast<int64_t>(Phase(0, lines.phase_d).taps.size() *
                                           Phase(1, lines.phase_h).taps.size() * width.taps.size());
    size_t count = 0;
    for (int64_t i = 0; i < lines.count; ++i) {
      float* line = args.outputs[0].host<float>() + OutputLine(lines, i) * g_.out[2] * g_.oc;
      for (int64_t jw = 0; jw < width.positions; jw += kernels_.mr) {
        const int64_t rows = std::min<int64_t>(kernels_.mr, width.positions - jw);
        FillTile(args, lines, i, width, jw, rows, pointers);
        tiles[count++] = {pointers, rows, line + (w + jw * g_.stride[2]) * g_.oc};
        pointers += rows * taps;
      }
    }
    RunTiles(args, {tiles, count}, PhaseIndex(lines.phase_d, lines.phase_h, w), taps, first_panel);
  }

  void RunTiles(const CpuLaunch& args, std::span<TileSpan> tiles, size_t phase, int64_t taps,
                int64_t first_panel) const {
    const float* panels = args.packed[0].host<float>();
    BlockArgs block;
    block.tiles = tiles;
    // Without taps the product is empty: one tap of no depth writes the bias.
    block.taps = std::max<int64_t>(taps, 1);
    block.depth = taps == 0 ? 0 : weights_.ic;
    block.panel_stride = weights_.taps * weights_.ic * kernels_.nr;
    block.c_stride = g_.stride[2] * g_.oc;
    block.joined = weights_.joined;
    block.depth_block = depth_block_;
    block.low = epilogue_.clamp().low;
    block.high = epilogue_.clamp().high;
    int64_t shift = 0;  // of the tiles' columns so far
    ForEachGroup(first_panel, [&](int64_t group, int64_t column, int64_t columns) {
      const int64_t channel = group * weights_.oc + column;
      for (TileSpan& tile : tiles) tile.c += channel - shift;
      shift = channel;
      block.a_offset = group * weights_.ic;
      block.columns = columns;
      block.b = panels + group * weights_.group_elements(kernels_.nr) +
                column * weights_.taps * weights_.ic +
                phase_start_[phase] * weights_.ic * kernels_.nr;
      block.bias = panels + PanelElements() + group * GroupColumns() + column;
      RunBlock(kernels_, block);
    });
  }

  ConvOperands operands_;
  size_t input_;
  ConvGeometry g_;
  std::array<std::vector<AxisPhase>, 3> phases_;
  std::array<int64_t, 3> max_taps_{0, 0, 0};
  std::vector<int64_t> phase_start_;  // first tap of each phase in the packed weights
  WeightShape weights_;
  const MicroKernels& kernels_;
  Epilogue epilogue_;
  int64_t depth_block_ = 0, lines_per_task_ = 1, panels_per_task_ = 1, group_tasks_ = 1;
  std::vector<Lines> lines_;
  RunScratch<float> zeros_ = Zeroed<float>(g_.ic);
  LaneScratch<TileSpan> tiles_;
  LaneScratch<const float*> pointers_;
};

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Conv& conv,
                                                const Params&, const Device& device) {
  ASSIGN_OR_RETURN(Epilogue epilogue, Epilogue::Compile(*problem.group, problem.states));
  return std::unique_ptr<PreparedKernel>(
      new ConvTransposeGemm(problem, conv.operands, conv.g, std::move(epilogue),
                            static_cast<const CpuDevice&>(device).info()));
}

constexpr Family<Conv> kFamily{.read = Read,
                               .states = States,
                               .prepare = Prepare,
                               .taste = Always<10>,
                               .takes_near_extents = true};

}  // namespace

extern const KernelDesc kCpuConvTransposeGemmNhwc;
const KernelDesc kCpuConvTransposeGemmNhwc = {.name = "cpu.conv_transpose.gemm.nhwc",
                                              .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
