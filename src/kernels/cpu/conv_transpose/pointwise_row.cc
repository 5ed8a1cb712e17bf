// compiled: small
// cpu.conv_transpose.pointwise.row: transposed convolutions of row-major tensors whose taps write
// pixels of their own (no kernel longer than its stride): a 1x1 convolution to channels x taps,
// whose rows are put side by side. A task packs the planes' pixels as panels, multiplies a few
// channels' rows by them, and writes their lines. The bias is one more input, of ones; pixels that
// no tap meets are written beside the sums.
#include <algorithm>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/conv/at_extents.h"
#include "kernels/cpu/conv/operands.h"
#include "kernels/cpu/conv/pixel_product.h"
#include "kernels/cpu/conv/plane_sums.h"
#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/epilogue/epilogue.h"
#include "kernels/cpu/gemm/block.h"
#include "kernels/cpu/product/tasks.h"
#include "kernels/family.h"
#include "kernels/takes_extents.h"
#include "tensor/read_floats.h"

namespace fettle::kernels {
namespace {

/// Longer strides are mostly pixels without taps, which vectors do not write.
constexpr int64_t kMostStride = 16;

struct Conv {
  ConvOperands operands;
  ConvGeometry g;

  int64_t inputs() const { return g.ic / g.groups; }
  int64_t outputs() const { return g.oc / g.groups; }
  int64_t in_pixels() const { return g.in[0] * g.in[1] * g.in[2]; }
  /// Rows of the product for each output: those of the lines that an input line writes, a row for
  /// each column of the kernel.
  int64_t rows() const { return g.taps(); }
  int64_t depth() const { return inputs() + (operands.b != ir::kAbsent ? 1 : 0); }
  /// Floats from row to row of the weights.
  int64_t pitch() const { return depth() + (ShareCacheSets(depth()) ? kPadding : 0); }
};

Result<Conv> Read(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(const ConvOperands operands, ReadConvOperands(group, "ConvTranspose"));
  ASSIGN_OR_RETURN(const ConvGeometry g, ReadTransposeGeometry(group, group.nodes()[0]));
  if (!WritesApart(g)) return Unsupported("padding, or taps that meet at a pixel");
  if (g.stride[2] > kMostStride) return Unsupported("a stride over {}", kMostStride);
  if (g.oc == 0 || g.ic == 0) return Unsupported("no channels");
  return Conv{operands, g};
}

/// Row-major, also as the caller bound it.
Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Conv& conv,
                                            const Device&) {
  return RowMajorConvStates(group, conv.operands);
}

/// [group][output][tap], each row the weights of all inputs, then the bias.
void Pack(const Conv& conv, const Constant& w, const Constant* b, float* out) {
  const int64_t taps = conv.g.taps(), inputs = conv.inputs(), outputs = conv.outputs();
  std::vector<float> weights(conv.g.ic * outputs * taps);
  ReadFloats(w, 0, static_cast<int64_t>(weights.size()), weights.data());
  std::fill_n(out, conv.g.oc * taps * conv.pitch(), 0.0f);
  for (int64_t o = 0; o < conv.g.oc; ++o) {
    float bias = 0;
    if (b != nullptr) ReadFloats(*b, o, 1, &bias);
    const int64_t first = o / outputs * inputs * outputs + o % outputs;
    for (int64_t tap = 0; tap < taps; ++tap, out += conv.pitch()) {
      for (int64_t i = 0; i < inputs; ++i) out[i] = weights[(first + i * outputs) * taps + tap];
      if (b != nullptr) out[inputs] = bias;
    }
  }
}

/// Some rows of sums stay near beside the panels.
PixelProduct ProductOf(const Conv& conv) {
  return {.planes = std::max<int64_t>(1, conv.g.batch * conv.g.groups),
          .pixels = conv.in_pixels(),
          .depth = conv.depth(),
          .most = 512};
}

ParamSpace Space(const Problem& problem, const Conv& conv, const Device&) {
  return ProductOf(conv).Space(problem.threads);
}

class TransposedRow final : public CpuKernel, public MovesToExtents<TransposedRow> {
 public:
  TransposedRow(const Problem& problem, const Conv& conv, const ConvPixels& pixels,
                Epilogue epilogue, int64_t panels)
      : CpuKernel(problem.threads),
        conv_(conv),
        input_(IndexOf(problem.group->inputs, conv.operands.x)),
        out_(pixels.out),
        epilogue_(std::move(epilogue)) {
    SetSizes(panels);
  }

  std::vector<PackRequest> packs() const override {
    std::string recipe =
        fmt::format("conv_transpose.taps.g{}.t{}.f32", conv_.g.groups, conv_.g.taps());
    std::vector<PackRequest> all{
        RequestWeights(conv_.operands, std::move(recipe), conv_.g.oc * conv_.rows() * conv_.pitch(),
                       [conv = conv_](const Constant& w, const Constant* b, float* out) {
                         Pack(conv, w, b, out);
                       })};
    epilogue_.AppendPacks(all);
    return all;
  }

  bool MoveTo(const Problem& problem, const Device&) override {
    const std::optional<ConvAt> at = AtExtents(conv_.g, {out_, out_}, *problem.group);
    if (!at || !WritesApart(at->g) ||
        !epilogue_.TakeElements(problem.shape(problem.group->outputs[0])))
      return false;
    conv_.g = at->g;
    out_ = at->pixels.out;
    ForgetScratch(problem.threads);
    SetSizes(ProductOf(conv_).UsualPanels(problem.threads));
    return true;
  }

  Status Run(const CpuLaunch& args) const override {
    const elementwise::Binding binding = epilogue_.Bind(args, 1);
    const ConvGeometry& g = conv_.g;
    const EvenParts panels(CeilDiv(conv_.in_pixels(), kernels_.nr), panels_);
    const EvenParts blocks(conv_.outputs(), outputs_);
    const EvenParts shares(blocks.count(), blocks_of_task_);
    const int64_t parts = panels.count() * shares.count();
    args.stream.ParallelFor(g.batch * g.groups * parts, [&](int64_t i, int lane) {
      const int64_t part = i % parts, column = part / shares.count(), share = part % shares.count();
      Task task{.image = i / parts / g.groups, .group = i / parts % g.groups};
      task.pixel = panels.Begin(column) * kernels_.nr;
      task.end = std::min(panels.Begin(column + 1) * kernels_.nr, conv_.in_pixels());
      const int64_t pixels = conv_.in_pixels(), inputs = conv_.inputs();
      const int64_t channel = task.image * g.ic + task.group * inputs;
      PackPixels(args.inputs[input_].host<float>() + channel * pixels + task.pixel, pixels, inputs,
                 task.end - task.pixel, conv_.depth() > inputs, args.At(packed_, lane));
      for (int64_t block = shares.Begin(share); block < shares.Begin(share + 1); ++block) {
        task.output = blocks.Begin(block);
        task.output_end = blocks.Begin(block + 1);
        Multiply(args, task, lane);
        JoinedElements finished(epilogue_, binding, args.outputs[0].host<float>());
        for (int64_t o = task.output; o < task.output_end; ++o)
          WriteLines(args, task, o, args.At(sums_, lane), finished);
        finished.Finish();
      }
    });
    return OkStatus();
  }

 private:
  /// Floats of the rows of a block of outputs, and of a slice of a panel (BlockArgs::depth_block).
  static constexpr int64_t kNearSums = 1 << 14, kSliceFloats = 1 << 15;

  /// Input pixels [pixel, end) of a group of an image, and outputs [output, output_end) of it.
  struct Task {
    int64_t image, group, pixel = 0, end = 0;
    int64_t output = 0, output_end = 0;
  };

  void SetSizes(int64_t panels) {
    panels_ = panels;
    pitch_ = panels * kernels_.nr + kPadding;
    const int64_t wanted = std::max<int64_t>(kNearSums / pitch_ / conv_.rows(), 1);
    outputs_ = std::min(wanted, conv_.outputs());
    const int64_t shares = ProductOf(conv_).SharesOfRows(panels, lanes());
    blocks_of_task_ = CeilDiv(CeilDiv(conv_.outputs(), outputs_), shares);
    const int64_t rows = outputs_ * conv_.rows();
    packed_ = PerLane<float>(panels_ * kernels_.nr * conv_.depth());
    sums_ = PerLane<float>(rows * pitch_);
    pointers_ = PerLane<const float*>(rows);
    tiles_ = PerLane<TileSpan>(CeilDiv(rows, kernels_.mr));
  }

  /// The rows of a task's outputs.
  void Multiply(const CpuLaunch& args, const Task& task, int lane) const {
    const int64_t row = (task.group * conv_.outputs() + task.output) * conv_.rows();
    const EvenRows weights{args.packed[0].host<float>() + row * conv_.pitch(), conv_.pitch()};
    const RowTiles tiles(kernels_.mr, (task.output_end - task.output) * conv_.rows());
    BlockArgs block;
    block.tiles = CutTiles(tiles, 0, tiles.count(), weights, args.At(sums_, lane), pitch_,
                           args.At(pointers_, lane), args.At(tiles_, lane));
    block.depth = conv_.depth();
    block.b = args.At(packed_, lane);
    block.far_b = false;
    block.columns = task.end - task.pixel;
    block.c_stride = pitch_;
    block.depth_block = kSliceFloats / kernels_.nr;
    block.low = epilogue_.clamp().low;
    block.high = epilogue_.clamp().high;
    RunBlock(kernels_, block);
  }

  /// The lines of output `o` that a task's pixels write, of the rows in `sums`.
  void WriteLines(const CpuLaunch& args, const Task& task, int64_t o, const float* sums,
                  JoinedElements& finished) const {
    const ConvGeometry& g = conv_.g;
    sums += (o - task.output) * conv_.rows() * pitch_;
    const int64_t channel = task.group * conv_.outputs() + o;
    Span span{.first = out_.Offset(task.image, 0, channel), .bias = BiasOf(args, channel)};
    const int64_t row = task.pixel / g.in[2];
    span.depth = row / g.in[1], span.height = row % g.in[1];
    int64_t column = task.pixel % g.in[2];
    for (int64_t pixel = task.pixel; pixel < task.end;) {
      const int64_t count = std::min(task.end - pixel, g.in[2] - column);
      span.column = column * g.stride[2];
      span.count = std::min(count * g.stride[2], g.out[2] - span.column);
      if (span.count > 0)
        WriteSpan(span, sums + pixel - task.pixel, args.outputs[0].host<float>(), finished);
      pixel += count;
      column = 0;
      if (++span.height == g.in[1]) ++span.depth, span.height = 0;
    }
  }

  /// Output columns of the lines that an input line writes.
  struct Span {
    int64_t first;  // of the output's elements
    float bias;     // where no tap writes
    int64_t depth = 0, height = 0;
    int64_t column = 0, count = 0;
  };
  void WriteSpan(const Span& span, const float* sums, float* y, JoinedElements& finished) const {
    const ConvGeometry& g = conv_.g;
    const int64_t depth = span.depth * g.stride[0], top = span.height * g.stride[1];
    const int64_t depths = std::min(g.stride[0], g.out[0] - depth);
    const int64_t heights = std::min(g.stride[1], g.out[1] - top);
    const bool is_whole = span.count == g.out[2];
    for (int64_t d = 0; d < depths; ++d) {
      int64_t at = span.first + ((depth + d) * g.out[1] + top) * g.out[2] + span.column;
      const int64_t meet_taps = d < g.kernel[0] ? std::min(g.kernel[1], heights) : 0;
      for (int64_t h = 0; h < heights;) {
        // Lines without taps are one where they are whole; they are written behind the others.
        const int64_t left = is_whole ? heights - h : 1, lines = h < meet_taps ? 1 : left;
        const int64_t count = (lines - 1) * g.out[2] + span.count;
        if (h < meet_taps) {
          JoinColumns(sums + (d * g.kernel[1] + h) * g.kernel[2] * pitch_, span, left, y + at);
        } else {
          copies_.fill(span.bias, count, y + at);
        }
        finished.Add(at, count);
        h += lines;
        at += lines * g.out[2];
      }
    }
  }

  /// A line of a span, of `lines` that are written from this one on.
  void JoinColumns(const float* rows, const Span& span, int64_t lines, float* out) const {
    const int64_t stride = conv_.g.stride[2];
    if (stride == 1) {
      std::copy_n(rows, span.count, out);
    } else {
      copies_.join_phases({.rows = rows,
                           .pitch = pitch_,
                           .num_rows = stride,
                           .missing = stride - conv_.g.kernel[2],
                           .rest = span.bias,
                           .count = span.count,
                           .out = out,
                           .room = (lines - 1) * conv_.g.out[2] + span.count});
    }
  }

  /// What pixels have that no tap meets.
  float BiasOf(const CpuLaunch& args, int64_t channel) const {
    const float* row =
        args.packed[0].host<float>() + channel * conv_.rows() * conv_.pitch() + conv_.inputs();
    const float bias = conv_.depth() == conv_.inputs() ? 0 : *row;
    const Clamp& clamp = epilogue_.clamp();
    return bias < clamp.low ? clamp.low : bias > clamp.high ? clamp.high : bias;
  }

  Conv conv_;
  size_t input_;
  PixelLayout out_;
  const MicroKernels& kernels_ = GetMicroKernels();
  const PlaneKernels& copies_ = GetPlaneKernels();
  Epilogue epilogue_;
  int64_t panels_ = 1, pitch_ = 0;            // of a task; floats from row to row of its sums
  int64_t outputs_ = 1, blocks_of_task_ = 1;  // outputs of a block
  LaneScratch<float> packed_, sums_;
  LaneScratch<const float*> pointers_;
  LaneScratch<TileSpan> tiles_;
};

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Conv& conv,
                                                const Params& params, const Device&) {
  ASSIGN_OR_RETURN(const ConvPixels pixels, ReadConvPixels(problem, conv.operands.x));
  ASSIGN_OR_RETURN(Epilogue epilogue, Epilogue::CompileElements(*problem.group, problem.states));
  const int64_t panels = ProductOf(conv).PanelsOf(params, problem.threads);
  return std::unique_ptr<PreparedKernel>(
      new TransposedRow(problem, conv, pixels, std::move(epilogue), panels));
}

/// As good as channels-last, where vectors are full of pixels and weights stay near. Few rows are
/// rather sums of the planes as they lie.
int Taste(const Conv& conv, const Device&) {
  const MicroKernels& kernels = GetMicroKernels();
  constexpr int64_t kNearWeights = 1 << 17;
  const int64_t pixels = conv.in_pixels(), vector = std::max(kernels.nr / 2, 1);
  const int64_t rows = TransposedRows(conv.g);
  // Short lines take long to put side by side.
  const bool is_filled = conv.g.in[2] >= vector && 5 * (RoundUp(pixels, vector) - pixels) <= pixels;
  const bool is_near = rows * conv.depth() <= kNearWeights;
  return vector > 1 && is_filled && is_near && rows >= kManyTransposedRows ? kBesideBest : 6;
}

constexpr Family<Conv> kFamily{.read = Read,
                               .states = States,
                               .prepare = Prepare,
                               .params = Space,
                               .taste = Taste,
                               .takes_near_extents = true};

}  // namespace

extern const KernelDesc kCpuConvTransposePointwiseRow;
const KernelDesc kCpuConvTransposePointwiseRow = {.name = "cpu.conv_transpose.pointwise.row",
                                                  .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
