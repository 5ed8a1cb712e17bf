// compiled: small
// Tasks of a depthwise convolution of floats from padded copies of lines.
#include <algorithm>
#include <bit>

#include "kernels/cpu/depthwise/padded.h"
#include "kernels/cpu/depthwise/runner.h"
#include "kernels/cpu/gemm/block.h"
#include "kernels/cpu/simd/targets.h"

namespace fettle::kernels {
namespace {

constexpr int64_t kPixelBytes = kDepthwisePad * 4;
/// Copies of lines that stay in the first-level cache beside the outputs.
constexpr int64_t kNearBytes = 32 << 10;
/// More of them than the second-level cache has are not worth it.
constexpr int64_t kMostBytes = 512 << 10;
/// Lines from the first to the last that a window meets.
int64_t SpanOf(const ConvGeometry& g) {
  return (g.kernel[0] - 1) * g.dilation[0] * g.in[1] + (g.kernel[1] - 1) * g.dilation[1] + 1;
}

int64_t ColumnsOf(const ConvGeometry& g, int64_t outputs) {
  return (outputs - 1) * g.stride[2] + (g.kernel[2] - 1) * g.dilation[2] + 1;
}

/// Hands out parts of memory, each from a cache line on.
struct Parts {
  std::byte* at = nullptr;
  int64_t bytes = 0;

  template <typename T>
  T* Take(int64_t count) {
    const int64_t begin = bytes;
    bytes += RoundUp(count * static_cast<int64_t>(sizeof(T)), 64);
    return at == nullptr ? nullptr : reinterpret_cast<T*>(at + begin);
  }
};

/// Lines of the first-level cache, of 64 sets, that a window of neighbouring outputs has in each
/// set that it meets, where pixels lie `in_pixel` floats apart.
int64_t LinesOfSet(const ConvGeometry& g, int64_t in_pixel) {
  constexpr int64_t kSets = 64, kLineFloats = 16, kOutputs = 8;
  const int64_t columns = std::min(g.in[2], kOutputs * g.stride[2] + g.kernel[2]);
  uint64_t sets = 0;
  for (int64_t k = 0; k < g.kernel[1]; ++k) {
    int64_t at = k * g.in[2] * in_pixel;
    for (int64_t i = 0; i < columns; ++i, at += in_pixel)
      sets |= uint64_t{1} << (at / kLineFloats % kSets);
  }
  return g.kernel[1] * columns / std::max(std::popcount(sets), 1);
}

/// Whether taps that are loaded one by one are so many that copies pay: by vectors as wide as cache
/// lines, most of which lie across two lines of a tensor, and by narrower ones.
bool ShallCopy(const ConvGeometry& g, int64_t in_pixel) {
  constexpr int64_t kManyTaps = 7, kManyNarrowTaps = 20, kManyLines = 8;
  if (RunsSimdTarget("AVX3")) return g.taps() >= kManyTaps;
  return g.taps() >= kManyNarrowTaps && (g.stride[2] == 1 || LinesOfSet(g, in_pixel) >= kManyLines);
}

/// Whether rows are computed from copies in less time than from the tensor's own lines.
bool ShallPad(const ConvGeometry& g, int64_t in_pixel) {
  const int64_t together = g.out[2] / g.dilation[2];
  if (!HasPadded(g.kernel[2], g.stride[2]) || together == 0) return false;
  if (g.dilation[2] > 1 && g.stride[2] > 1) return false;
  // Else each line is copied for a row anyway.
  if (g.oc != g.ic) return true;
  if (!HasPaddedWindow(g.kernel[2], g.stride[2])) return together >= 4 && ShallCopy(g, in_pixel);
  // A copy pays where several rows meet it.
  if (g.kernel[1] < 3) return false;
  if (g.dilation[2] > 1) return together >= (g.kernel[2] == 3 ? 32 : 8);
  if (g.kernel[2] > 5) return true;
  if (g.kernel[0] > 1 && (g.kernel[2] > 3 || g.stride[2] == 1)) return true;
  // Where registers are many, blocks of copies are wider.
  const bool are_wide = g.stride[2] == 1 && RunsSimdTarget("AVX3");
  if (g.kernel[2] == 3) return are_wide && LinesOfSet(g, in_pixel) >= 16;
  const bool is_short = together <= 14;
  return (are_wide && !is_short) || LinesOfSet(g, in_pixel) >= (is_short ? 8 : 5);
}

}  // namespace

PaddedPlan DepthwiseProblem::PlanPadded() const {
  if (in_bytes != 4 || SpanOf(g) > kMostBytes || !ShallPad(g, pixels.in.block)) return {};
  PaddedPlan plan{.lines = SpanOf(g), .outputs = g.out[2]};
  const auto bytes = [&] {
    plan.columns = RoundUp(ColumnsOf(g, plan.outputs), g.dilation[2]);
    return plan.lines * plan.columns * kPixelBytes;
  };
  while (bytes() > kNearBytes && plan.outputs >= 64 && g.dilation[2] == 1)
    plan.outputs = CeilDiv(plan.outputs, 2);
  return bytes() > kMostBytes ? PaddedPlan{} : plan;
}

/// What the rows of a task are made from, whichever its channels.
struct DepthwiseRunner::PaddedMemory {
  PaddedRow* rows;
  PaddedCopy* copies;
  const float** lines;
  int64_t* weights_at;
  int64_t* held;  // which line of the input each copy is of, or -1
  float* pixels;

  PaddedMemory(Parts& parts, int64_t num_rows, int64_t kernel_rows, const PaddedPlan& plan)
      : rows(parts.Take<PaddedRow>(num_rows)),
        copies(parts.Take<PaddedCopy>(num_rows * kernel_rows)),
        lines(parts.Take<const float*>(num_rows * kernel_rows)),
        weights_at(parts.Take<int64_t>(num_rows * kernel_rows)),
        held(parts.Take<int64_t>(plan.lines)),
        pixels(parts.Take<float>(plan.lines * plan.columns * kDepthwisePad)) {}
};

int64_t DepthwiseRunner::PaddedBytes() const {
  Parts parts;
  PaddedMemory(parts, blocking_.rows, KernelRows(), padded_plan_);
  return parts.bytes;
}

/// The row's lines, and which of them it copies first; takes from `memory` what it needs.
void DepthwiseRunner::PlanPaddedRow(int64_t index, int64_t begin, PaddedMemory& memory,
                                    PaddedRow& row) const {
  const ConvGeometry& g = p_.g;
  const int64_t image = ImageOf(index);
  const int64_t od = index / g.out[1] % g.out[0], oh = index % g.out[1];
  row = {.copies = memory.copies, .lines = memory.lines, .weights_at = memory.weights_at};
  for (int64_t k = 0; k < KernelRows(); ++k) {
    const int64_t id = od * g.stride[0] - g.pad[0] + k / g.kernel[1] * g.dilation[0];
    const int64_t ih = oh * g.stride[1] - g.pad[1] + k % g.kernel[1] * g.dilation[1];
    if (id < 0 || id >= g.in[0] || ih < 0 || ih >= g.in[1]) continue;
    const int64_t line = (image * g.in[0] + id) * g.in[1] + ih;
    const int64_t slot = line % padded_plan_.lines;
    float* at = memory.pixels + slot * padded_plan_.columns * kDepthwisePad;
    if (memory.held[slot] != line) {
      memory.held[slot] = line;
      const int64_t pixel = (id * g.in[1] + ih) * g.in[2];
      *memory.copies++ = {p_.pixels.in.Offset(image, pixel, 0), at};
      ++row.num_copies;
    }
    *memory.lines++ = at;
    *memory.weights_at++ = k * g.kernel[2] * kDepthwisePad;
    ++row.num_lines;
  }
  row.out_at = p_.pixels.out.Offset(image, PixelOf(index) + begin, 0);
}

/// Outputs [begin, begin + padded_plan_.outputs) of the rows of `task`.
void DepthwiseRunner::RunPaddedPiece(const DepthwiseMemory& memory, const Task& task, int64_t begin,
                                     float* y, std::byte* scratch) const {
  const ConvGeometry& g = p_.g;
  Parts parts{.at = scratch};
  PaddedMemory planned(parts, blocking_.rows, KernelRows(), padded_plan_);
  std::fill_n(planned.held, padded_plan_.lines, -1);
  PaddedWork work;
  work.blocks = padded_blocks_;
  work.rows = planned.rows;
  for (int64_t row = task.row; row < task.end; ++row)
    PlanPaddedRow(row, begin, planned, planned.rows[work.num_rows++]);
  const int64_t first = begin * g.stride[2] - g.pad[2];
  work.outputs = padded_plan_.outputs;
  work.columns = ColumnsOf(g, work.outputs);
  work.before = std::min(std::max<int64_t>(-first, 0), work.columns);
  const int64_t skipped = std::clamp<int64_t>(first, 0, g.in[2]);
  work.inside = std::clamp<int64_t>(first + work.columns, skipped, g.in[2]) - skipped;
  work.in_pixel = p_.pixels.in.block;
  work.out_pixel = p_.pixels.out.block;
  work.taps = g.kernel[2];
  work.stride = g.stride[2];
  work.dilation = g.dilation[2];
  work.multiplier = g.oc / g.ic;
  work.low = memory.common.low;
  work.high = memory.common.high;
  for (int64_t c = 0; c < task.channels; c += kDepthwisePad) {
    const int64_t channel = task.channel + c;
    work.channels = std::min(kDepthwisePad, task.channels - c);
    work.first = channel;
    work.x = reinterpret_cast<const float*>(memory.x) +
             p_.pixels.in.Offset(0, skipped, channel / work.multiplier);
    work.weights = memory.common.weights + channel / kDepthwisePad * kDepthwisePad * g.taps() +
                   channel % kDepthwisePad;
    work.bias = memory.common.bias + channel;
    work.out = y + p_.pixels.out.Offset(0, 0, channel);
    work.blocks.run(work);
  }
}

void DepthwiseRunner::RunPaddedTask(const DepthwiseMemory& memory, const Task& task, float* y,
                                    std::byte* scratch) const {
  for (int64_t begin = 0; begin < p_.g.out[2]; begin += padded_plan_.outputs) {
    // The last piece overlaps the one before: the function is for so many outputs.
    RunPaddedPiece(memory, task, std::min(begin, p_.g.out[2] - padded_plan_.outputs), y, scratch);
  }
}

}  // namespace fettle::kernels
