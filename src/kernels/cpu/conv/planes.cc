// compiled: small
// cpu.conv.planes, cpu.conv_transpose.planes: convolutions of row-major tensors, whose channels are
// planes, in groups of few channels, where a vector of output channels would be mostly empty, or of
// few multiply-adds for an element, where conversions to channels-last would cost more than they
// do. A few output planes at once are sums of lines of the input planes
// (kernels/cpu/conv/plane_sums.h). Lines that are padded or strided are copied first, in a ring of
// as many as the kernel has rows.
#include <algorithm>
#include <vector>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/conv/operands.h"
#include "kernels/cpu/conv/plane_problem.h"
#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/epilogue/epilogue.h"
#include "kernels/cpu/gemm/block.h"
#include "kernels/family.h"
#include "kernels/fields.h"
#include "kernels/takes_extents.h"

namespace fettle::kernels {
namespace {

template <bool kTransposed>
Result<PlaneProblem> Read(const ir::Graph& group, const Device&) {
  return ReadPlanes(group, kTransposed);
}

/// Row-major, also as the caller bound it.
Result<std::vector<StateAssignment>> States(const ir::Graph& group, const PlaneProblem& conv,
                                            const Device&) {
  return RowMajorConvStates(group, conv.operands);
}

/// Output rows of a task.
struct RowsOfTask {
  int64_t rows = 1;
};
constexpr Fields kFields("", Field{"rows", &RowsOfTask::rows, {}});

int64_t AllRows(const PlaneProblem& conv) { return conv.g.out[0] * conv.g.out[1]; }

RowsOfTask UsualRows(const PlaneProblem& conv, int threads) {
  const int64_t macs = conv.columns() * conv.macs() * conv.outputs();
  const int64_t rows = AllRows(conv);
  const int64_t share = CeilDiv(conv.g.batch * conv.g.groups * rows, 4 * int64_t{threads});
  // Tasks copy lines anew that others have copied, too.
  const int64_t wanted = std::max(kPlaneTaskMacs / std::max<int64_t>(macs, 1),
                                  conv.reads_lines() ? 1 : 4 * conv.window());
  return {std::clamp<int64_t>(threads == 1 ? wanted : std::min(wanted, share), 1, rows)};
}

ParamSpace Space(const Problem& problem, const PlaneProblem& conv, const Device&) {
  const RowsOfTask usual = UsualRows(conv, problem.threads);
  return {kFields.Tunables({ValuesAround(usual.rows, AllRows(conv))}), kFields.Write(usual), {}};
}

int Taste(const PlaneProblem& conv, const Device& device);

class ConvPlanes final : public CpuKernel, public MovesToExtents<ConvPlanes> {
 public:
  ConvPlanes(const Problem& problem, const PlaneProblem& conv, const ConvPixels& pixels,
             Epilogue epilogue, int64_t rows)
      : CpuKernel(problem.threads),
        conv_(conv),
        input_(IndexOf(problem.group->inputs, conv.operands.x)),
        out_(pixels.out),
        epilogue_(std::move(epilogue)),
        blocks_(conv.outputs()) {
    SetSizes(rows);
  }

  std::vector<PackRequest> packs() const override {
    std::vector<PackRequest> all{RequestPlanes(conv_)};
    epilogue_.AppendPacks(all);
    return all;
  }

  bool MoveTo(const Problem& problem, const Device& device) override {
    const int taste = Taste(conv_, device);
    if (!conv_.MoveTo(*problem.group, out_) || Taste(conv_, device) != taste ||
        !epilogue_.TakeElements(problem.shape(problem.group->outputs[0])))
      return false;
    ForgetScratch(problem.threads);
    SetSizes(UsualRows(conv_, problem.threads).rows);
    return true;
  }

  Status Run(const CpuLaunch& args) const override {
    const elementwise::Binding binding = epilogue_.Bind(args, 1);
    const ConvGeometry& g = conv_.g;
    const int64_t cuts = CeilDiv(g.out[2], columns_), rows = g.out[0] * g.out[1];
    const int64_t parts = CeilDiv(rows, rows_);
    args.stream.ParallelFor(g.batch * g.groups * parts * cuts, [&](int64_t i, int lane) {
      const int64_t column = i % cuts * columns_, row = i / cuts % parts * rows_;
      RunTask(args, binding,
              {.image = i / cuts / parts / g.groups,
               .group = i / cuts / parts % g.groups,
               .row = row,
               .end = std::min(row + rows_, rows),
               .column = column,
               .columns = std::min(columns_, g.out[2] - column),
               .ring = copies_ ? args.At(ring_, lane) : nullptr,
               .held = copies_ ? args.At(held_, lane) : nullptr,
               .phase_rows = conv_.num_phases() > 1 ? args.At(phase_rows_, lane) : nullptr,
               .lines = args.At(lines_, lane)});
    });
    return OkStatus();
  }

 private:
  /// Output rows [row, end) of a group of an image, counted through the planes of a volume.
  struct Task {
    int64_t image, group, row, end, column, columns;
    float* ring;        // copied lines, [input][kernel plane][input row % window()]
    int64_t* held;      // the rows of input 0 that the ring holds
    float* phase_rows;  // [phase][output][column]
    PlaneLine* lines;
  };

  /// What follows from the problem, where tasks have so many rows.
  void SetSizes(int64_t rows) {
    columns_ = conv_.columns();
    rows_ = rows;
    copies_ = !conv_.reads_lines();
    part_floats_ = conv_.part_floats();
    offsets_.resize(conv_.phases.size());
    for (size_t i = 0; i < offsets_.size(); ++i) {
      offsets_[i] = conv_.phases[i].offsets;
      if (!copies_) continue;
      for (int64_t& offset : offsets_[i]) {
        const int64_t at = offset - conv_.low;
        offset = at % conv_.step() * part_floats_ + at / conv_.step();
      }
    }
    lines_ = PerLane<PlaneLine>(conv_.inputs() * conv_.kernel_rows());
    if (copies_) ring_ = PerLane<float>(conv_.ring_floats());
    if (copies_) held_ = PerLane<int64_t>(held());
    if (conv_.num_phases() > 1) phase_rows_ = PerLane<float>(phase_floats());
  }

  int64_t phase_floats() const {
    return blocks_.each * conv_.num_phases() * CeilDiv(columns_, conv_.num_phases());
  }
  int64_t held() const { return conv_.g.kernel[0] * conv_.window(); }

  int64_t line_floats() const { return conv_.step() * part_floats_; }

  /// Line `h` of a plane of input 0 of the task's group, and elements from input to input.
  const float* InputLine(const CpuLaunch& args, const Task& task, int64_t plane, int64_t h) const {
    const ConvGeometry& g = conv_.g;
    const int64_t channel = task.image * g.ic + task.group * conv_.inputs();
    return args.inputs[input_].host<float>() +
           ((channel * g.in[0] + plane) * g.in[1] + h) * g.in[2];
  }
  int64_t input_step() const { return conv_.g.in[0] * conv_.g.in[1] * conv_.g.in[2]; }
  int64_t ring_step() const { return held() * line_floats(); }

  /// Copies a line of all inputs.
  void CopyLines(const Task& task, const float* line, float* out) const {
    const int64_t step = conv_.step();
    PartArgs copy{.line = line,
                  .num_lines = conv_.inputs(),
                  .line_step = input_step(),
                  .width = conv_.g.in[2],
                  .first = task.column / conv_.num_phases() * step + conv_.low,
                  .stride = step,
                  .count = part_floats_,
                  .out = out,
                  .out_step = ring_step()};
    // Taps may leave the last elements of a step out.
    const int64_t parts = std::min(step, conv_.high - conv_.low + 1);
    for (int64_t part = 0; part < parts; ++part, ++copy.first, copy.out += part_floats_)
      kernels_.copy(copy);
  }

  void RunTask(const CpuLaunch& args, const elementwise::Binding& binding, const Task& task) const {
    const ConvGeometry& g = conv_.g;
    float* y = args.outputs[0].host<float>();
    const int64_t channel = task.group * conv_.outputs();
    for (int64_t row = task.row; row < task.end; ++row) {
      if (copies_ && (row == task.row || row % g.out[1] == 0)) std::fill_n(task.held, held(), -1);
      const int64_t lines = FindLines(args, task, row);
      const int64_t pixel = row * g.out[2] + task.column;
      RunRow(args, task, lines, y + out_.Offset(task.image, pixel, channel));
      epilogue_.RunPlanes(binding,
                          {.first = out_.Offset(task.image, pixel, channel),
                           .count = task.columns,
                           .stride = out_.plane,
                           .planes = conv_.outputs()},
                          y);
    }
  }

  /// The lines that an output row meets; returns their number. Copies those that the ring lacks.
  int64_t FindLines(const CpuLaunch& args, const Task& task, int64_t row) const {
    const ConvGeometry& g = conv_.g;
    int64_t count = 0;
    for (int64_t k = 0; k < conv_.kernel_rows(); ++k) {
      const int64_t tap = k / g.kernel[1];
      const int64_t plane = conv_.InputOf(0, row / g.out[1], tap);
      const int64_t h = conv_.InputOf(1, row % g.out[1], k % g.kernel[1]);
      if (plane < 0 || h < 0) continue;
      const float* line = InputLine(args, task, plane, h);
      int64_t step = input_step();
      if (copies_) {
        const int64_t slot = tap * conv_.window() + h % conv_.window();
        float* const copy = task.ring + slot * line_floats();
        if (task.held[slot] != h) CopyLines(task, line, copy);
        task.held[slot] = h;
        line = copy, step = ring_step();
      } else {
        line += task.column / conv_.num_phases();
      }
      for (int64_t i = 0; i < conv_.inputs(); ++i)
        task.lines[count++] = {line + i * step, i * conv_.kernel_rows() + k};
    }
    return count;
  }

  /// A row of all planes of the group.
  void RunRow(const CpuLaunch& args, const Task& task, int64_t lines, float* y) const {
    const int64_t depth = conv_.inputs() * conv_.g.taps(), phases = conv_.num_phases();
    const auto* weights = args.packed[0].host<float>();
    const float* bias = weights + conv_.g.groups * blocks_.stored() * depth;
    PlaneArgs sums{.lines = task.lines,
                   .num_lines = lines,
                   .low = epilogue_.clamp().low,
                   .high = epilogue_.clamp().high};
    for (int64_t first = 0; first < conv_.outputs(); first += blocks_.each) {
      const int64_t stored = task.group * blocks_.stored() + blocks_.StoredBefore(first);
      sums.weights = weights + stored * depth;
      sums.bias = bias + stored;
      sums.outputs = blocks_.OutputsAt(first);
      float* const out = y + first * out_.plane;
      sums.out = phases == 1 ? out : task.phase_rows;
      sums.plane = phases == 1 ? out_.plane : CeilDiv(task.columns, phases);
      for (int64_t phase = 0; phase < phases; ++phase) {
        sums.taps = static_cast<int64_t>(offsets_[phase].size());
        sums.offsets = offsets_[phase].data();
        sums.count = CeilDiv(task.columns - phase, phases);
        if (sums.count > 0) kernels_.run(sums);
        sums.weights += conv_.inputs() * conv_.kernel_rows() * sums.taps * PlaneBlock(sums.outputs);
        if (phases > 1) sums.out += sums.outputs * sums.plane;
      }
      for (int64_t o = 0; phases > 1 && o < sums.outputs; ++o)
        kernels_.join_phases({.rows = task.phase_rows + o * sums.plane,
                              .pitch = sums.outputs * sums.plane,
                              .num_rows = phases,
                              .count = task.columns,
                              .out = out + o * out_.plane});
    }
  }

  PlaneProblem conv_;
  size_t input_;
  PixelLayout out_;
  const PlaneKernels& kernels_ = GetPlaneKernels();
  Epilogue epilogue_;
  PlaneBlocks blocks_;
  int64_t columns_ = 0, rows_ = 0;  // of a task
  bool copies_ = false;
  int64_t part_floats_ = 0;
  std::vector<std::vector<int64_t>> offsets_;  // of each phase
  LaneScratch<float> ring_, phase_rows_;
  LaneScratch<int64_t> held_;
  LaneScratch<PlaneLine> lines_;
};

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const PlaneProblem& conv,
                                                const Params& params, const Device&) {
  ASSIGN_OR_RETURN(const ConvPixels pixels, ReadConvPixels(problem, conv.operands.x));
  ASSIGN_OR_RETURN(Epilogue epilogue, Epilogue::CompileElements(*problem.group, problem.states));
  const int64_t rows = kFields.Read(params, UsualRows(conv, problem.threads)).rows;
  return std::unique_ptr<PreparedKernel>(std::make_unique<ConvPlanes>(
      problem, conv, pixels, std::move(epilogue), std::clamp<int64_t>(rows, 1, AllRows(conv))));
}

/// A vector of output channels is at most half full where this computes whole ones. A product of
/// whole groups fills its vectors, too.
int Taste(const PlaneProblem& conv, const Device&) {
  const PlaneKernels& kernels = GetPlaneKernels();
  const int64_t columns = CeilDiv(conv.g.out[2], conv.num_phases());
  const int64_t vectors = CeilDiv(columns, kernels.lanes);
  if (kernels.lanes == 1 || columns < kernels.lanes || conv.suits_flat()) return 6;
  // cpu.conv_transpose.pointwise.row computes all lines at once.
  const bool has_apart = conv.transposed && WritesApart(conv.g);
  if (has_apart && TransposedRows(conv.g) >= kManyTransposedRows) return 6;
  // Fewer sums than four wait for each other.
  const int64_t sums = std::min(conv.outputs(), kernels.most_outputs) * vectors;
  if (sums < 4 && conv.macs() > 4 * sums) return 6;
  // Lines are passed over for each block of outputs: many blocks take longer than a product.
  constexpr int64_t kManyBlocks = 8;
  const int64_t blocks = CeilDiv(conv.outputs(), kernels.most_outputs);
  if (!conv.transposed && conv.g.IsPointwise() && blocks >= kManyBlocks) return 6;
  const double filled = static_cast<double>(columns) / static_cast<double>(vectors * kernels.lanes);
  const bool is_depthwise = conv.inputs() == 1 && conv.outputs() == 1 && conv.g.groups > 1;
  // Channels-last depthwise kernels keep their window in registers; short lines are copied for
  // less.
  constexpr int64_t kLongLine = 16;
  if (is_depthwise && !conv.transposed && vectors < kLongLine) return 6;
  if (2 * conv.outputs() <= kernels.lanes && !is_depthwise) return filled >= 0.5 ? kBeforeBest : 6;
  return conv.is_light() && filled >= (conv.g.groups > 1 ? 0.6 : 0.8) ? kBesideBest : 6;
}

template <bool kTransposed>
constexpr Family<PlaneProblem> kFamily{.read = Read<kTransposed>,
                                       .states = States,
                                       .prepare = Prepare,
                                       .params = Space,
                                       .taste = Taste,
                                       .takes_near_extents = true};

}  // namespace

extern const KernelDesc kCpuConvPlanes;
const KernelDesc kCpuConvPlanes = {.name = "cpu.conv.planes", .match = MatchAs<kFamily<false>>};

extern const KernelDesc kCpuConvTransposePlanes;
const KernelDesc kCpuConvTransposePlanes = {.name = "cpu.conv_transpose.planes",
                                            .match = MatchAs<kFamily<true>>};

}  // namespace fettle::kernels
