// compiled: small
// cpu.conv.planes.flat: as cpu.conv.planes, for planes whose rows fill few vectors: an output plane
// is the sum of lines as long as many rows (kernels/cpu/conv/flat_problem.h).
#include <algorithm>
#include <vector>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/conv/flat_problem.h"
#include "kernels/cpu/conv/operands.h"
#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/epilogue/epilogue.h"
#include "kernels/cpu/gemm/block.h"
#include "kernels/cpu/zeros.h"
#include "kernels/family.h"
#include "kernels/fields.h"
#include "kernels/takes_extents.h"

namespace fettle::kernels {
namespace {

Result<FlatProblem> Read(const ir::Graph& group, const Device&) { return ReadFlatPlanes(group); }

/// Row-major, also as the caller bound it.
Result<std::vector<StateAssignment>> States(const ir::Graph& group, const FlatProblem& flat,
                                            const Device&) {
  return RowMajorConvStates(group, flat.conv.operands);
}

/// Output rows of a plane that are computed at once.
struct FlatRows {
  int64_t rows = 1;
};
constexpr Fields kFields("", Field{"rows", &FlatRows::rows, {}});

FlatRows UsualRows(const FlatProblem& flat, int threads) {
  const ConvGeometry& g = flat.conv.g;
  const int64_t planes = std::max<int64_t>(1, g.batch * g.groups * g.out[0]);
  const int64_t parts = threads == 1 ? 1 : CeilDiv(4 * int64_t{threads}, planes);
  return {std::max<int64_t>(1, std::min(flat.usual_rows(), CeilDiv(g.out[1], parts)))};
}

ParamSpace Space(const Problem& problem, const FlatProblem& flat, const Device&) {
  const FlatRows usual = UsualRows(flat, problem.threads);
  return {
      kFields.Tunables({ValuesAround(usual.rows, flat.conv.g.out[1])}), kFields.Write(usual), {}};
}

class ConvFlat final : public CpuKernel, public MovesToExtents<ConvFlat> {
 public:
  ConvFlat(const Problem& problem, const FlatProblem& flat, const ConvPixels& pixels,
           Epilogue epilogue, int64_t rows)
      : CpuKernel(problem.threads),
        flat_(flat),
        input_(IndexOf(problem.group->inputs, flat.conv.operands.x)),
        out_(pixels.out),
        epilogue_(std::move(epilogue)),
        blocks_(flat.conv.outputs()) {
    SetSizes(rows, problem.threads);
  }

  bool MoveTo(const Problem& problem, const Device&) override {
    const int taste = FlatTaste(flat_);
    if (!flat_.MoveTo(*problem.group, out_) || FlatTaste(flat_) != taste ||
        !epilogue_.TakeElements(problem.shape(problem.group->outputs[0])))
      return false;
    ForgetScratch(problem.threads);
    SetSizes(UsualRows(flat_, problem.threads).rows, problem.threads);
    return true;
  }

  std::vector<PackRequest> packs() const override {
    std::vector<PackRequest> all{RequestPlanes(flat_.conv)};
    epilogue_.AppendPacks(all);
    return all;
  }

  Status Run(const CpuLaunch& args) const override {
    const elementwise::Binding binding = epilogue_.Bind(args, 1);
    const ConvGeometry& g = flat_.conv.g;
    const int64_t depths = CeilDiv(g.out[0], planes_), sets = CeilDiv(g.groups, groups_);
    args.stream.ParallelFor(g.batch * sets * parts_ * depths, [&](int64_t i, int lane) {
      const int64_t plane = i % depths * planes_, row = i / depths % parts_ * rows_;
      const int64_t set = i / depths / parts_ % sets * groups_;
      Task task{.image = i / depths / parts_ / sets,
                .row = row,
                .rows = std::min(rows_, g.out[1] - row),
                .copies = args.At(copies_, lane),
                .held = args.At(held_, lane),
                .sums = args.At(sums_, lane),
                .lines = args.At(lines_, lane)};
      for (task.group = set; task.group < std::min(set + groups_, g.groups); ++task.group) {
        std::fill_n(task.held, flat_.window(), -1);
        for (task.plane = plane; task.plane < std::min(plane + planes_, g.out[0]); ++task.plane)
          RunPlane(args, binding, task);
      }
    });
    return OkStatus();
  }

 private:
  /// Rows of an output plane of the outputs of a group of an image.
  struct Task {
    int64_t image, row, rows;
    float* copies;  // [input plane % window()][input][slice][row][column]
    int64_t* held;  // the input planes that `copies` has
    float* sums;    // [output][row][column]
    PlaneLine* lines;
    int64_t group = 0, plane = 0;
  };

  /// What follows from the problem, where `rows` rows of a plane are computed at once.
  void SetSizes(int64_t rows, int threads) {
    const FlatProblem& flat = flat_;
    rows_ = rows;
    offsets_.clear();
    for (const FlatProblem::Tap& tap : flat.taps) {
      const int64_t slice = flat.reads_planes ? 0 : tap.slice * flat.slice_rows(rows) * flat.pitch;
      offsets_.push_back(slice + tap.row * flat.pitch + tap.column);
    }
    const ConvGeometry& g = flat.conv.g;
    parts_ = CeilDiv(g.out[1], rows);
    const int64_t macs = rows * flat.pitch * flat.conv.macs() * flat.conv.outputs();
    const int64_t wanted = std::max<int64_t>(kPlaneTaskMacs / std::max<int64_t>(macs, 1), 1);
    const int64_t all = g.batch * g.groups * parts_ * g.out[0];
    const int64_t share = threads == 1 ? all : CeilDiv(all, 4 * int64_t{threads});
    // Planes one behind the other share what they meet.
    planes_ = std::clamp<int64_t>(share, 1, g.out[0]);
    groups_ = planes_ < g.out[0]
                  ? 1
                  : std::clamp<int64_t>(std::min(share / planes_, wanted), 1, g.groups);
    copies_ = PerLane<float>(flat.copied_floats(rows));
    held_ = PerLane<int64_t>(flat.window());
    sums_ = PerLane<float>(drops_columns() ? blocks_.each * sums_floats() + kernels_.lanes : 0);
    lines_ = PerLane<PlaneLine>(flat.conv.inputs() * g.kernel[0]);
  }

  int64_t window_floats() const { return flat_.conv.inputs() * flat_.plane_floats(rows_); }
  /// Elements from output to output of the sums.
  int64_t sums_floats() const { return rows_ * flat_.pitch; }
  bool drops_columns() const { return flat_.pitch > flat_.conv.g.out[2]; }

  void RunPlane(const CpuLaunch& args, const elementwise::Binding& binding,
                const Task& task) const {
    const ConvGeometry& g = flat_.conv.g;
    float* y = args.outputs[0].host<float>();
    const int64_t pixel = (task.plane * g.out[1] + task.row) * g.out[2];
    const int64_t channel = task.group * flat_.conv.outputs(), count = task.rows * g.out[2];
    RunSums(args, task, FindLines(args, task), y + out_.Offset(task.image, pixel, channel));
    epilogue_.RunPlanes(binding,
                        {.first = out_.Offset(task.image, pixel, channel),
                         .count = count,
                         .stride = out_.plane,
                         .planes = flat_.conv.outputs()},
                        y);
  }

  /// The planes that the output plane meets; returns their number. Copies those that are missing.
  int64_t FindLines(const CpuLaunch& args, const Task& task) const {
    const ConvGeometry& g = flat_.conv.g;
    const int64_t inputs = flat_.conv.inputs(), channel = task.image * g.ic + task.group * inputs;
    const float* x = args.inputs[input_].host<float>() + channel * input_step();
    int64_t count = 0;
    for (int64_t k = 0; k < g.kernel[0]; ++k) {
      const int64_t plane = flat_.conv.InputOf(0, task.plane, k);
      if (plane < 0) continue;
      const float* first = x + plane * g.in[1] * g.in[2];
      int64_t step = input_step();
      if (flat_.reads_planes) {
        first += (task.row - g.pad[1]) * g.in[2] + flat_.conv.low;
      } else {
        const int64_t slot = plane % flat_.window();
        float* const copy = task.copies + slot * window_floats();
        if (task.held[slot] != plane) CopyPlanes(task, first, copy);
        task.held[slot] = plane;
        first = copy, step = flat_.plane_floats(rows_);
      }
      for (int64_t i = 0; i < inputs; ++i)
        task.lines[count++] = {first + i * step, i * g.kernel[0] + k};
    }
    return count;
  }
  int64_t input_step() const {
    const ConvGeometry& g = flat_.conv.g;
    return g.in[0] * g.in[1] * g.in[2];
  }

  /// Copies a plane of all inputs.
  void CopyPlanes(const Task& task, const float* plane, float* out) const {
    const ConvGeometry& g = flat_.conv.g;
    const int64_t rows = flat_.slice_rows(task.rows),
                  floats = flat_.slice_rows(rows_) * flat_.pitch;
    for (int64_t i = 0; i < flat_.conv.inputs(); ++i) {
      float* to = out + i * flat_.plane_floats(rows_);
      for (const FlatSlice& slice : flat_.slices) {
        const int64_t first = task.row * g.stride[1] - g.pad[1] + slice.row;
        CopySlice(plane + i * input_step(), first, flat_.conv.low + slice.column, rows, to);
        to += floats;
      }
    }
  }

  /// Rows first, first + stride, ... from column `column` on, zeros outside of the plane.
  void CopySlice(const float* plane, int64_t first, int64_t column, int64_t rows,
                 float* out) const {
    const ConvGeometry& g = flat_.conv.g;
    const int64_t stride = g.stride[1], pitch = flat_.pitch;
    const int64_t begin = std::min(rows, first < 0 ? CeilDiv(-first, stride) : 0);
    const int64_t end =
        std::clamp(CeilDiv(g.in[1] - std::min(first, g.in[1]), stride), begin, rows);
    FillZeros(out, begin * pitch);
    kernels_.copy({.line = plane + (first + begin * stride) * g.in[2],
                   .num_lines = end - begin,
                   .line_step = stride * g.in[2],
                   .width = g.in[2],
                   .first = column,
                   .stride = g.stride[2],
                   .count = pitch,
                   .out = out + begin * pitch,
                   .out_step = pitch});
    FillZeros(out + end * pitch, (rows - end) * pitch);
  }

  /// The sums of all outputs of the group.
  void RunSums(const CpuLaunch& args, const Task& task, int64_t lines, float* y) const {
    const int64_t depth = flat_.conv.inputs() * flat_.conv.g.taps(), width = flat_.conv.g.out[2];
    const auto* weights = args.packed[0].host<float>();
    const float* bias = weights + flat_.conv.g.groups * blocks_.stored() * depth;
    PlaneArgs sums{.lines = task.lines,
                   .num_lines = lines,
                   .taps = static_cast<int64_t>(offsets_.size()),
                   .offsets = offsets_.data(),
                   .low = epilogue_.clamp().low,
                   .high = epilogue_.clamp().high,
                   .plane = drops_columns() ? sums_floats() : out_.plane,
                   .count = (task.rows - 1) * flat_.pitch + width};
    for (int64_t first = 0; first < flat_.conv.outputs(); first += blocks_.each) {
      const int64_t stored = task.group * blocks_.stored() + blocks_.StoredBefore(first);
      sums.weights = weights + stored * depth;
      sums.bias = bias + stored;
      sums.outputs = blocks_.OutputsAt(first);
      sums.out = drops_columns() ? task.sums : y + first * out_.plane;
      kernels_.run(sums);
      for (int64_t o = 0; drops_columns() && o < sums.outputs; ++o)
        kernels_.drop_columns({.rows = task.sums + o * sums.plane,
                               .pitch = flat_.pitch,
                               .num_rows = task.rows,
                               .width = width,
                               .out = y + (first + o) * out_.plane});
    }
  }

  FlatProblem flat_;
  size_t input_;
  PixelLayout out_;
  const PlaneKernels& kernels_ = GetPlaneKernels();
  Epilogue epilogue_;
  PlaneBlocks blocks_;
  int64_t rows_ = 1, parts_ = 1, planes_ = 1, groups_ = 1;  // of a task; parts of a plane
  std::vector<int64_t> offsets_;                            // of each tap of a plane
  LaneScratch<float> copies_, sums_;
  LaneScratch<int64_t> held_;
  LaneScratch<PlaneLine> lines_;
};

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const FlatProblem& flat,
                                                const Params& params, const Device&) {
  ASSIGN_OR_RETURN(const ConvPixels pixels, ReadConvPixels(problem, flat.conv.operands.x));
  ASSIGN_OR_RETURN(Epilogue epilogue, Epilogue::CompileElements(*problem.group, problem.states));
  const int64_t rows = kFields.Read(params, UsualRows(flat, problem.threads)).rows;
  return std::unique_ptr<PreparedKernel>(
      std::make_unique<ConvFlat>(problem, flat, pixels, std::move(epilogue),
                                 std::max<int64_t>(1, std::min(rows, flat.conv.g.out[1]))));
}

int Taste(const FlatProblem& flat, const Device&) { return FlatTaste(flat); }

constexpr Family<FlatProblem> kFamily{.read = Read,
                                      .states = States,
                                      .prepare = Prepare,
                                      .params = Space,
                                      .taste = Taste,
                                      .takes_near_extents = true};

}  // namespace

extern const KernelDesc kCpuConvPlanesFlat;
const KernelDesc kCpuConvPlanesFlat = {.name = "cpu.conv.planes.flat", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
