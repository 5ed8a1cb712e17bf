// compiled: small
// cpu.conv.depthwise.line: one filter per channel or a few, channels-last, where channels fill no
// vector: lines are copied with their padding, a channel as often as filters read it, and a line of
// pixels is one long vector (kernels/cpu/depthwise/line.h). Also a single channel, which is a
// convolution without groups.
#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/conv/operands.h"
#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/depthwise/line.h"
#include "kernels/cpu/epilogue/epilogue.h"
#include "kernels/cpu/zeros.h"
#include "kernels/family.h"
#include "tensor/read_floats.h"

namespace fettle::kernels {
namespace {

constexpr int64_t kMostLines = 256;
/// A task is worth some microseconds.
constexpr int64_t kTaskMacs = 100'000;

struct Conv {
  ConvOperands operands;
  ConvGeometry g;

  /// Filters of an input channel.
  int64_t filters() const { return g.oc / g.ic; }
  int64_t lanes() const { return GetLineKernel().lanes; }
  /// Vectors after which channels begin again.
  int64_t phases() const { return g.oc / std::gcd(g.oc, lanes()); }
  int64_t row_floats() const { return g.kernel[2] * phases() * lanes(); }
  /// Pixels of a padded line.
  int64_t span() const {
    return (g.out[2] - 1) * g.stride[2] + (g.kernel[2] - 1) * g.dilation[2] + 1;
  }
  /// Lines from the first to the last that an output row meets.
  int64_t window_lines() const { return (g.kernel[1] - 1) * g.dilation[1] + 1; }
  /// Every stride-th pixel of a line: what the pixels of an output row read at a tap lies without
  /// gaps.
  int64_t part_floats() const {
    return RoundUp(CeilDiv(span(), g.stride[2]) * g.oc + phases() * lanes(), lanes());
  }
  int64_t line_floats() const { return g.stride[2] * part_floats(); }
  /// Where a tap's pixels begin in a line.
  std::vector<int64_t> offsets() const {
    std::vector<int64_t> all;
    for (int64_t t = 0; t < g.kernel[2]; ++t) {
      const int64_t at = t * g.dilation[2];
      all.push_back(at % g.stride[2] * part_floats() + at / g.stride[2] * g.oc);
    }
    return all;
  }
};

Result<Conv> Read(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(const ConvOperands operands, ReadConvOperands(group, "Conv"));
  ASSIGN_OR_RETURN(const ConvGeometry g, ReadConvGeometry(group, group.nodes()[0]));
  if (g.groups != g.ic || g.ic == 0) return Unsupported("filters of more than one channel");
  if (g.out[1] == 0 || g.out[2] == 0) return Unsupported("nothing to compute");
  if (g.oc == 0 || 2 * g.oc >= GetLineKernel().lanes) return Unsupported("channels fill a vector");
  if (!g.IsImage()) return Unsupported("three spatial axes");
  const Conv conv{operands, g};
  if (conv.window_lines() > kMostLines)
    return Unsupported("a window of {} rows", conv.window_lines());
  return conv;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Conv& conv,
                                            const Device&) {
  ASSIGN_OR_RETURN(StateAssignment states, ConvStates(group, conv.operands));
  RETURN_IF_ERROR(Epilogue::Compile(group, states).status());
  return std::vector<StateAssignment>{std::move(states)};
}

/// [kernel row][kernel column][phase][lane], then the bias, [phase][lane].
void Pack(const Conv& conv, const Constant& w, const Constant* b, float* out) {
  const int64_t period = conv.phases() * conv.lanes(), taps = conv.g.taps();
  std::vector<float> filters(conv.g.oc * taps), bias(conv.g.oc, 0.0f);
  ReadFloats(w, 0, conv.g.oc * taps, filters.data());
  if (b != nullptr) ReadFloats(*b, 0, conv.g.oc, bias.data());
  for (int64_t i = 0; i < period; ++i) {
    const int64_t c = i % conv.g.oc;
    for (int64_t t = 0; t < taps; ++t) out[t * period + i] = filters[c * taps + t];
    out[taps * period + i] = bias[c];
  }
}

/// Each of `n` elements kTimes.
template <int64_t kTimes>
void Repeat(const float* from, int64_t n, float* out) {
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t k = 0; k < kTimes; ++k) out[i * kTimes + k] = from[i];
  }
}

class DepthwiseLines final : public CpuKernel {
 public:
  DepthwiseLines(const Problem& problem, const Conv& conv, Epilogue epilogue)
      : CpuKernel(problem.threads),
        conv_(conv),
        input_(IndexOf(problem.group->inputs, conv.operands.x)),
        out_(ChannelsLastPixels(conv.g.oc, conv.g.image_pixels())),
        kernel_(GetLineKernel()),
        epilogue_(std::move(epilogue)),
        part_floats_(conv.part_floats()),
        line_floats_(conv.line_floats()),
        offsets_(conv.offsets()) {
    const int64_t row_macs = conv.g.out[2] * conv.g.oc * conv.g.taps();
    // Tasks copy lines anew that others have copied, too.
    const int64_t wanted =
        std::max(kTaskMacs / std::max<int64_t>(row_macs, 1), 2 * conv.window_lines());
    const int64_t share = CeilDiv(conv.g.batch * conv.g.out[1], int64_t{lanes()});
    rows_ = std::clamp<int64_t>(std::min(wanted, share), 1, std::max<int64_t>(conv.g.out[1], 1));
  }

  std::vector<PackRequest> packs() const override {
    const int64_t floats = conv_.g.kernel[1] * conv_.row_floats() + conv_.phases() * conv_.lanes();
    std::vector<PackRequest> all{
        RequestWeights(conv_.operands, fmt::format("depthwise.line.lanes{}.f32", kernel_.lanes),
                       floats, [conv = conv_](const Constant& w, const Constant* b, float* out) {
                         Pack(conv, w, b, out);
                       })};
    epilogue_.AppendPacks(all);
    return all;
  }

  Status Run(const CpuLaunch& args) const override {
    const elementwise::Binding binding = epilogue_.Bind(args, 1);
    const int64_t blocks = CeilDiv(conv_.g.out[1], rows_);
    args.stream.ParallelFor(conv_.g.batch * blocks, [&](int64_t task, int lane) {
      const int64_t row = task % blocks * rows_;
      RunRows(args, binding,
              {.image = task / blocks,
               .row = row,
               .end = std::min(row + rows_, conv_.g.out[1]),
               .ring = args.At(ring_, lane)});
    });
    return OkStatus();
  }

 private:
  /// Output rows [row, end) of an image.
  struct Task {
    int64_t image, row, end;
    float* ring;  // padded lines, that of input row h at h % window_lines()
  };

  void CopyLine(const float* line, float* out) const {
    const ConvGeometry& g = conv_.g;
    if (g.stride[2] > 1) return SplitLine(line, out);
    const int64_t before = g.pad[2] * g.oc, filters = conv_.filters();
    const int64_t inside = std::clamp<int64_t>(conv_.span() * g.oc - before, 0, g.in[2] * g.oc);
    FillZeros(out, before);
    if (filters == 1) {
      std::copy_n(line, inside, out + before);
    } else if (filters == 2) {
      Repeat<2>(line, inside / 2, out + before);
    } else {
      for (int64_t i = 0; i < inside; i += filters)
        std::fill_n(out + before + i, filters, line[i / filters]);
    }
    FillZeros(out + before + inside, line_floats_ - before - inside);
  }

  /// The line as one part for each pixel of a stride.
  void SplitLine(const float* line, float* out) const {
    const ConvGeometry& g = conv_.g;
    const int64_t stride = g.stride[2], filters = conv_.filters();
    const int64_t last = std::min(conv_.span(), g.pad[2] + g.in[2]);
    for (int64_t part = 0; part < stride; ++part, out += part_floats_) {
      // Pixels [begin, end) of the part lie in the image.
      const int64_t end = CeilDiv(std::max<int64_t>(last - part, 0), stride);
      const int64_t begin = std::min(end, CeilDiv(std::max<int64_t>(g.pad[2] - part, 0), stride));
      const float* from = line + (begin * stride + part - g.pad[2]) * g.ic;
      FillZeros(out, begin * g.oc);
      for (int64_t i = begin; i < end; ++i, from += stride * g.ic) {
        for (int64_t c = 0, at = i * g.oc; c < g.ic; ++c) {
          for (int64_t k = 0; k < filters; ++k) out[at++] = from[c];
        }
      }
      FillZeros(out + end * g.oc, part_floats_ - end * g.oc);
    }
  }

  void RunRows(const CpuLaunch& args, const elementwise::Binding& binding, const Task& task) const {
    const ConvGeometry& g = conv_.g;
    const int64_t line_elements = g.in[2] * g.ic;
    const auto* x = args.inputs[input_].host<float>() + task.image * g.in[1] * line_elements;
    auto* y = args.outputs[0].host<float>();
    std::array<const float*, kMostLines> lines;
    LineArgs line;
    line.lines = lines.data();
    line.taps = g.kernel[2];
    line.offsets = offsets_.data();
    line.phases = conv_.phases();
    line.low = epilogue_.clamp().low;
    line.high = epilogue_.clamp().high;
    line.count = g.out[2] * g.oc;
    const auto* weights = args.packed[0].host<float>();
    line.bias = weights + g.kernel[1] * conv_.row_floats();
    int64_t next = 0;  // the first input row that is not in the ring
    for (int64_t row = task.row; row < task.end; ++row) {
      // Kernel rows [begin, end) meet lines of the image.
      const int64_t top = row * g.stride[1] - g.pad[1], step = g.dilation[1];
      const int64_t begin = std::min(CeilDiv(std::max<int64_t>(-top, 0), step), g.kernel[1]);
      const int64_t end = std::clamp<int64_t>(CeilDiv(std::max<int64_t>(g.in[1] - top, 0), step),
                                              begin, g.kernel[1]);
      const auto in_ring = [&](int64_t h) {
        return task.ring + h % conv_.window_lines() * line_floats_;
      };
      for (next = std::max(next, top); next <= top + (end - 1) * step; ++next)
        CopyLine(x + next * line_elements, in_ring(next));
      for (int64_t k = begin; k < end; ++k) lines[k - begin] = in_ring(top + k * step);
      line.num_lines = end - begin;
      line.weights = weights + begin * conv_.row_floats();
      line.out = y + out_.Offset(task.image, row * g.out[2], 0);
      kernel_.run(line);
    }
    FinishPixels(epilogue_, binding, out_,
                 {task.image, task.row * g.out[2], (task.end - task.row) * g.out[2], 0, g.oc}, y);
  }

  Conv conv_;
  size_t input_;
  PixelLayout out_;
  LineKernel kernel_;
  Epilogue epilogue_;
  int64_t part_floats_, line_floats_;
  std::vector<int64_t> offsets_;
  int64_t rows_ = 1;
  LaneScratch<float> ring_ = PerLane<float>(conv_.window_lines() * line_floats_);
};

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Conv& conv,
                                                const Params&, const Device&) {
  ASSIGN_OR_RETURN(Epilogue epilogue, Epilogue::Compile(*problem.group, problem.states));
  return std::unique_ptr<PreparedKernel>(new DepthwiseLines(problem, conv, std::move(epilogue)));
}

/// Lines are split for a stride. Of one channel products of kernel rows read them as they lie, if
/// these are runs (cpu.conv.lines.nhwc).
int Taste(const Conv& conv, const Device&) {
  const ConvGeometry& g = conv.g;
  return g.ic == 1 && g.stride[2] > 1 && g.dilation[2] == 1 && g.kernel[2] > 1 ? 7 : 21;
}

constexpr Family<Conv> kFamily{.read = Read, .states = States, .prepare = Prepare, .taste = Taste};

}  // namespace

extern const KernelDesc kCpuConvDepthwiseLine;
const KernelDesc kCpuConvDepthwiseLine = {.name = "cpu.conv.depthwise.line",
                                          .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
