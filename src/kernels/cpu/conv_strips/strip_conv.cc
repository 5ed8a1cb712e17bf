// compiled: small
#include "kernels/cpu/conv_strips/strip_conv.h"

#include <algorithm>
#include <array>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/conv/at_extents.h"
#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/gemm/block.h"
#include "kernels/cpu/gemm/pack.h"
#include "kernels/fields.h"
#include "kernels/takes_extents.h"
#include "tensor/read_floats.h"

namespace fettle::kernels {
namespace {

/// Rows of a kernel, and its columns for strips of planes.
constexpr int64_t kMostKernelRows = 11, kMostPlaneTaps = 11;

/// [vector of outputs][kernel row][input][kernel column][lane], then the padded bias.
void Pack(const StripProblem& conv, const Constant& w, const Constant* b, float* out) {
  const int64_t lanes = GetStripKernels().lanes, filter_floats = conv.inputs() * conv.g.taps();
  const int64_t weight_floats = conv.vectors() * conv.vector_floats();
  std::fill_n(out, weight_floats, 0.0f);
  std::vector<float> filter(filter_floats);
  for (int64_t c = 0; c < conv.g.oc; ++c) {
    ReadFloats(w, c * filter_floats, filter_floats, filter.data());
    float* vector = out + c / lanes * conv.vector_floats() + c % lanes;
    for (int64_t i = 0; i < conv.inputs(); ++i) {
      for (int64_t t = 0; t < conv.g.taps(); ++t) {
        const int64_t row = t / conv.g.kernel[2], column = t % conv.g.kernel[2];
        vector[((row * conv.inputs() + i) * conv.g.kernel[2] + column) * lanes] =
            filter[i * conv.g.taps() + t];
      }
    }
  }
  PackBias(b, 0, conv.g.oc, conv.vectors() * lanes, 1, out + weight_floats);
}

/// Output rows of one task.
struct RowBlock {
  int64_t rows = 1;
};
constexpr Fields kFields("", Field{"rows", &RowBlock::rows, {}});

/// Rows whose lines, all channels of them, stay in a quarter of the second-level cache while
/// vectors of channels pass over them; and a few tasks for each lane.
RowBlock ChooseRows(const Device& device, const StripProblem& conv, int threads) {
  const ConvGeometry& g = conv.g;
  const int64_t known = static_cast<const CpuDevice&>(device).info().l2_bytes;
  const int64_t l2 = known > 0 ? known : 512 * 1024;
  const int64_t row_bytes = 4 * (g.in[2] * g.ic * g.stride[1] + g.out[2] * g.oc);
  const int64_t units = CeilDiv(conv.vectors(), conv.vectors_together());
  const int64_t all = std::max<int64_t>(g.out[1], 1);
  const int64_t rows = std::clamp<int64_t>(l2 / 4 / std::max<int64_t>(row_bytes, 1), 8, 64);
  const int64_t wanted = threads > 1 ? CeilDiv(int64_t{4} * threads, units) : 1;
  return {CeilDiv(all, std::max(CeilDiv(all, rows), wanted))};
}

/// The index into kPlaneStrips of the strips that a row takes least time with.
size_t PlaneStripOf(const StripProblem& conv) {
  const auto& kernels = GetStripKernels().planes[conv.vectors() > 1][conv.g.stride[2] - 1];
  size_t best = 0;
  int64_t least = INT64_MAX;
  for (size_t i = 0; i < std::size(kPlaneStrips); ++i) {
    const int64_t outputs = kPlaneStrips[i];
    if (kernels[i] == nullptr || outputs > conv.g.out[2]) continue;
    // What a strip costs beside its outputs is worth about as much as one of them.
    const int64_t cost = CeilDiv(conv.g.out[2], outputs) * (outputs + 1);
    if (cost < least) best = i, least = cost;
  }
  return best;
}

class StripConv final : public CpuKernel, public TakesExtents {
 public:
  StripConv(const Problem& problem, const StripProblem& conv, Epilogue epilogue, RowBlock block)
      : CpuKernel(problem.threads),
        conv_(conv),
        input_(IndexOf(problem.group->inputs, conv.operands.x)),
        out_(ChannelsLastPixels(conv.g.oc, conv.g.image_pixels())),
        kernels_(GetStripKernels()),
        epilogue_(std::move(epilogue)),
        block_(block),
        vectors_(conv.vectors()),
        together_(conv.vectors_together()),
        row_floats_(conv.row_floats()),
        vector_floats_(conv.vector_floats()),
        inputs_(conv.inputs()) {
    if (conv.g.out[2] == 0) return;
    const bool is_planes = conv.form == StripForm::kPlanes;
    if (is_planes) planes_ = PlaneStripOf(conv);
    strip_ = is_planes ? kPlaneStrips[planes_]
                       : CeilDiv(conv.g.out[2], CeilDiv(conv.g.out[2], kernels_.most_outputs));
    strips_ = CeilDiv(conv.g.out[2], strip_);
    columns_ = ((strip_ - 1) * conv.g.stride[2] + conv.g.kernel[2]) | 1;
    line_floats_ = RoundUp(inputs_, is_planes ? 1 : kernels_.lanes) * columns_;
    ring_ = PerLane<float>(conv.g.kernel[1] * line_floats_);
  }

  std::vector<PackRequest> packs() const override {
    std::vector<PackRequest> all{RequestWeights(
        conv_.operands, fmt::format("conv.strips.g{}.lanes{}.f32", conv_.g.groups, kernels_.lanes),
        conv_.vectors() * (conv_.vector_floats() + kernels_.lanes),
        [conv = conv_](const Constant& w, const Constant* b, float* out) {
          Pack(conv, w, b, out);
        })};
    epilogue_.AppendPacks(all);
    return all;
  }

  std::unique_ptr<PreparedKernel> At(const Problem& problem, const Device& device) const override {
    Epilogue epilogue = epilogue_;
    auto at = AtExtents(conv_.g, {out_, out_}, epilogue, *problem.group);
    if (!at) return nullptr;
    const StripProblem conv{conv_.operands, at->g, conv_.form};
    const RowBlock rows = ChooseRows(device, conv, problem.threads);
    return std::make_unique<StripConv>(problem, conv, std::move(epilogue), rows);
  }

  Status Run(const CpuLaunch& args) const override {
    const elementwise::Binding binding = epilogue_.Bind(args, 1);
    const int64_t rows = conv_.g.out[1], blocks = CeilDiv(rows, block_.rows),
                  units = CeilDiv(vectors_, together_);
    args.stream.ParallelFor(conv_.g.batch * blocks * units, [&](int64_t task, int lane) {
      const int64_t row = task / units % blocks * block_.rows;
      const int64_t vector = task % units * together_;
      RunTask(args, binding,
              {.image = task / units / blocks,
               .row = row,
               .end = std::min(row + block_.rows, rows),
               .vector = vector,
               .channel = vector * kernels_.lanes / conv_.outputs() * inputs_,
               .ring = args.At(ring_, lane)});
    });
    return OkStatus();
  }

 private:
  /// Output rows [row, end) of an image, vectors of outputs from `vector` on that read the same.
  struct Task {
    int64_t image, row, end, vector;
    int64_t channel;  // of the input, the first that they read
    float* ring;      // spread lines, those of input row h at h % kernel rows
  };

  float* RingLine(const Task& task, int64_t h) const {
    return task.ring + h % conv_.g.kernel[1] * line_floats_;
  }

  void RunTask(const CpuLaunch& args, const elementwise::Binding& binding, const Task& task) const {
    const ConvGeometry& g = conv_.g;
    const Range inside = StripsInside();
    for (int64_t i = 0; i < strips_; ++i) {
      const Range columns = StripAt(i);
      if (columns.begin < inside.begin || columns.begin >= inside.end)
        RunSpread(args, task, columns);
    }
    for (int64_t row = task.row; row < task.end; ++row) RunInside(args, task, inside, row);
    const int64_t channel = task.vector * kernels_.lanes;
    const int64_t channels = std::min(together_ * kernels_.lanes, g.oc - channel);
    FinishPixels(
        epilogue_, binding, out_,
        {task.image, task.row * g.out[2], (task.end - task.row) * g.out[2], channel, channels},
        args.outputs[0].host<float>());
  }

  struct Range {
    int64_t begin, end;
  };
  /// Output columns of strip `i`: about equally many. Planes have few widths: the last strip begins
  /// earlier and writes the same values again.
  Range StripAt(int64_t i) const {
    const int64_t width = conv_.g.out[2];
    if (conv_.form != StripForm::kPlanes) return {i * width / strips_, (i + 1) * width / strips_};
    const int64_t first = std::min(i * strip_, width - strip_);
    return {first, first + strip_};
  }
  /// The input lines that output row `row` meets.
  Range LinesOf(int64_t row) const {
    const int64_t top = row * conv_.g.stride[1] - conv_.g.pad[1];
    const int64_t begin = std::max<int64_t>(top, 0);
    return {begin, std::clamp<int64_t>(top + conv_.g.kernel[1], begin, conv_.g.in[1])};
  }
  /// The first columns of strips that read lines as they lie in the input: planes, away from the
  /// borders.
  Range StripsInside() const {
    const ConvGeometry& g = conv_.g;
    if (conv_.form != StripForm::kPlanes) return {0, 0};
    const int64_t last = g.in[2] - ((strip_ - 1) * g.stride[2] + g.kernel[2]) + g.pad[2];
    if (last < 0) return {0, 0};
    return {CeilDiv(g.pad[2], g.stride[2]), last / g.stride[2] + 1};
  }
  /// Input 0 of a group in a pixel of the image.
  const float* Pixel(const CpuLaunch& args, const Task& task, int64_t pixel) const {
    const int64_t image = conv_.g.in[1] * conv_.g.in[2] * conv_.g.ic;
    return args.inputs[input_].host<float>() + task.image * image + task.channel +
           pixel * (conv_.form == StripForm::kPlanes ? 1 : conv_.g.ic);
  }

  /// The strips of some columns, row by row, from spread lines.
  void RunSpread(const CpuLaunch& args, const Task& task, const Range& columns) const {
    const ConvGeometry& g = conv_.g;
    SpreadArgs spread;
    spread.width = g.in[2];
    spread.pixel = conv_.form == StripForm::kPlanes ? 1 : g.ic;
    spread.plane = g.in[1] * g.in[2];
    spread.first = columns.begin * g.stride[2] - g.pad[2];
    spread.columns = columns_;
    spread.inputs = conv_.form == StripForm::kGroupsInVector ? kernels_.lanes : inputs_;
    spread.next = spread.width * spread.pixel;
    int64_t next = 0;  // the first input row that is not in the ring
    for (int64_t row = task.row; row < task.end; ++row) {
      const Range rows = LinesOf(row);
      for (next = std::max(next, rows.begin); next < rows.end; ++next) {
        spread.line = Pixel(args, task, next * g.in[2]);
        spread.out = RingLine(task, next);
        kernels_.spread[static_cast<size_t>(conv_.form)](spread);
      }
      std::array<const float*, kMostKernelRows> lines;
      for (int64_t h = rows.begin; h < rows.end; ++h) lines[h - rows.begin] = RingLine(task, h);
      const int64_t pitch = conv_.form == StripForm::kPlanes ? 1 : kernels_.lanes;
      RowWork work =
          PrepareRow(args, task, {lines.data(), rows.end - rows.begin, columns_ * pitch}, row);
      RunStrip(work, task, columns);
    }
  }

  /// The strips of an output row whose first columns lie in `inside`.
  void RunInside(const CpuLaunch& args, const Task& task, const Range& inside, int64_t row) const {
    const ConvGeometry& g = conv_.g;
    const Range rows = LinesOf(row);
    std::array<const float*, kMostKernelRows> starts, lines;
    for (int64_t h = rows.begin; h < rows.end; ++h)
      starts[h - rows.begin] = Pixel(args, task, h * g.in[2]);
    RowWork work =
        PrepareRow(args, task, {lines.data(), rows.end - rows.begin, g.in[1] * g.in[2]}, row);
    for (int64_t strip = 0; strip < strips_; ++strip) {
      const Range columns = StripAt(strip);
      if (columns.begin < inside.begin || columns.begin >= inside.end) continue;
      for (int64_t i = 0; i < rows.end - rows.begin; ++i)
        lines[i] = starts[i] + (columns.begin * g.stride[2] - g.pad[2]);
      RunStrip(work, task, columns);
    }
  }

  /// What a strip reads: the first column of each line, and elements from input to input.
  struct Lines {
    const float* const* lines;
    int64_t count, input_step;
  };
  /// What the strips of an output row share.
  struct RowWork {
    StripArgs args;
    const float *weights, *bias;
    float* y;
  };
  RowWork PrepareRow(const CpuLaunch& args, const Task& task, const Lines& lines,
                     int64_t row) const {
    const ConvGeometry& g = conv_.g;
    RowWork work;
    work.args.lines = lines.lines;
    work.args.num_lines = lines.count;
    work.args.input_step = lines.input_step;
    work.args.inputs = inputs_;
    work.args.low = epilogue_.clamp().low;
    work.args.high = epilogue_.clamp().high;
    work.args.out_pixel = g.oc;
    work.args.taps = g.kernel[2];
    work.args.vector_step = vector_floats_;
    const float* weights = args.packed[0].host<float>();
    work.bias = weights + vectors_ * vector_floats_;
    // Kernel rows above the image meet no line.
    const int64_t above = std::clamp<int64_t>(g.pad[1] - row * g.stride[1], 0, g.kernel[1]);
    work.weights = weights + above * row_floats_;
    work.y = args.outputs[0].host<float>() + out_.Offset(task.image, row * g.out[2], 0);
    return work;
  }
  /// All vectors of the task for the strip of some columns.
  void RunStrip(RowWork& work, const Task& task, const Range& columns) const {
    const bool planes = conv_.form == StripForm::kPlanes;
    const auto form = static_cast<size_t>(conv_.form);
    const auto stride = static_cast<size_t>(conv_.g.stride[2] - 1);
    const int64_t end = std::min(task.vector + together_, vectors_);
    for (int64_t v = task.vector, vectors = 1; v < end; v += vectors) {
      vectors = planes ? std::min<int64_t>(end - v, 2) : 1;
      const int64_t channel = v * kernels_.lanes;
      work.args.weights = work.weights + v * vector_floats_;
      work.args.bias = work.bias + channel;
      work.args.channels = conv_.g.oc - channel;
      work.args.out = work.y + columns.begin * conv_.g.oc + channel;
      (planes ? kernels_.planes[vectors - 1][stride][planes_]
              : kernels_.strip[form][stride][columns.end - columns.begin])(work.args);
    }
  }

  StripProblem conv_;
  size_t input_;
  PixelLayout out_;
  const StripKernels& kernels_;
  Epilogue epilogue_;
  RowBlock block_;
  int64_t vectors_, together_, row_floats_, vector_floats_, inputs_;  // StripProblem's
  int64_t strip_ = 1, strips_ = 0;  // output pixels of the widest strip, strips of a row
  size_t planes_ = 0;               // which of kPlaneStrips that is
  /// Of a spread line. Columns are odd, so that neither inputs nor lines lie whole pages apart:
  /// loads would wait for stores of equal low address bits.
  int64_t columns_ = 0, line_floats_ = 0;
  LaneScratch<float> ring_;
};

}  // namespace

int64_t StripProblem::vectors() const { return CeilDiv(g.oc, GetStripKernels().lanes); }
int64_t StripProblem::vectors_together() const {
  return form == StripForm::kGroupsInVector ? 1 : CeilDiv(outputs(), GetStripKernels().lanes);
}
int64_t StripProblem::row_floats() const {
  return inputs() * g.kernel[2] * GetStripKernels().lanes;
}

Status CheckStrips(const ConvGeometry& g, StripForm form) {
  if (g.oc == 0 || g.ic == 0) return Unsupported("no channels");
  if (!g.IsImage()) return Unsupported("three spatial axes");
  if (g.dilation[1] != 1 || g.dilation[2] != 1) return Unsupported("a dilation over 1");
  if (g.stride[2] > 2) return Unsupported("a stride over 2");
  const bool wide = form == StripForm::kPlanes && g.kernel[2] > 1 && g.kernel[2] <= kMostPlaneTaps;
  if (g.kernel[1] > kMostKernelRows || (g.kernel[2] != kStripTaps && !wide))
    return Unsupported("no strips of a kernel of {} x {}", g.kernel[1], g.kernel[2]);
  return OkStatus();
}

ParamSpace StripParams(const Problem& problem, const StripProblem& conv, const Device& device) {
  const RowBlock usual = ChooseRows(device, conv, problem.threads);
  return {kFields.Tunables({ValuesAround(usual.rows, conv.g.out[1])}), kFields.Write(usual), {}};
}

Result<std::unique_ptr<PreparedKernel>> PrepareStrips(const Problem& problem,
                                                      const StripProblem& conv,
                                                      const Params& params, const Device& device) {
  ASSIGN_OR_RETURN(Epilogue epilogue, Epilogue::Compile(*problem.group, problem.states));
  RowBlock block = kFields.Read(params, ChooseRows(device, conv, problem.threads));
  block.rows = std::max<int64_t>(block.rows, 1);
  return std::unique_ptr<PreparedKernel>(new StripConv(problem, conv, std::move(epilogue), block));
}

}  // namespace fettle::kernels
