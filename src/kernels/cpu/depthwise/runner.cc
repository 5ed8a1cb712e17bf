// compiled: small
#include "kernels/cpu/depthwise/runner.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/gemm/block.h"
#include "kernels/cpu/gemm/pack.h"
#include "kernels/fields.h"

namespace fettle::kernels {
namespace {

constexpr Fields kFields("", Field{"rows", &DepthwiseBlocking::rows, {}},
                         Field{"channels", &DepthwiseBlocking::channels, {}});

/// Of a task.
constexpr int64_t kMostPaddedRows = 128;

/// A line of pixels with each channel repeated `multiplier` times.
template <typename T>
void ExpandLine(const std::byte* line, int64_t elements, int64_t multiplier, std::byte* out) {
  const T* from = reinterpret_cast<const T*>(line);
  T* to = reinterpret_cast<T*>(out);
  for (int64_t i = 0; i < elements; ++i, to += multiplier) std::fill_n(to, multiplier, from[i]);
}

}  // namespace

Result<ConvGeometry> ReadDepthwiseGeometry(const ir::Graph& group, const ir::Node& node) {
  ASSIGN_OR_RETURN(const ConvGeometry g, ReadConvGeometry(group, node));
  if (!g.IsDepthwise()) return Unsupported("not a depthwise convolution");
  return g;
}

Result<std::vector<ConvLayouts>> DepthwiseBlockLayouts(const ir::Graph& group,
                                                       const ConvGeometry& geometry) {
  const Layout blocks = ChannelBlockLayout(), last = Layout::ChannelsLast(4);
  if (geometry.oc != geometry.ic) return Unsupported("a channel multiplier");
  if (group.value(group.outputs[0]).shape->rank() != 4) return Unsupported("not two spatial axes");
  if (2 * geometry.oc < blocks.blocks[0].size) return Unsupported("blocks would be mostly padding");
  return std::vector<ConvLayouts>{{blocks, blocks}, {last, blocks}, {blocks, last}};
}

int64_t DepthwiseProblem::most_channels() const {
  return std::min(g.oc == g.ic ? pixels.in.block : g.oc, pixels.out.block);
}

DepthwiseBlocking ChooseDepthwiseBlocking(const DepthwiseProblem& p, int lanes) {
  const int64_t rows = std::max<int64_t>(p.g.batch * p.g.out[0] * p.g.out[1], 1);
  const int64_t most = std::max<int64_t>(p.most_channels(), 1);
  const int64_t row_macs = std::max<int64_t>(p.g.out[2] * p.g.taps(), 1);  // of a channel
  // A task is worth some tens of microseconds.
  int64_t task_macs = 400'000, most_rows = rows;
  DepthwiseBlocking blocking{.channels = most};
  if (p.pads()) {
    // Tasks copy lines anew that others have copied, too. What a task of few channels reads, writes
    // and finishes stays in the second-level cache.
    task_macs = 1'600'000;
    most_rows = std::min(rows, kMostPaddedRows / 2);
    const int64_t wanted =
        std::clamp<int64_t>(task_macs / (most_rows * row_macs), 64, std::max<int64_t>(most, 64));
    const int64_t pieces = std::max(
        CeilDiv(most, wanted),
        std::min(CeilDiv(most, int64_t{64}), CeilDiv(2 * lanes, CeilDiv(rows, most_rows))));
    blocking.channels = std::min(most, RoundUp(CeilDiv(most, pieces), kDepthwisePad));
  }
  const int64_t passes = CeilDiv(p.g.oc, blocking.channels);
  blocking.rows = std::clamp<int64_t>(task_macs / (row_macs * blocking.channels), 1,
                                      std::max<int64_t>(1, rows * passes / (int64_t{2} * lanes)));
  blocking.rows = std::clamp<int64_t>(blocking.rows, 1, most_rows);
  return blocking;
}

std::vector<Tunable> DepthwiseTunables(const DepthwiseProblem& p, int lanes) {
  const DepthwiseBlocking usual = ChooseDepthwiseBlocking(p, lanes);
  const int64_t rows = p.g.batch * p.g.out[0] * p.g.out[1];
  // Fewer channels at a time keep the lines that neighbouring rows share in the first-level cache.
  std::vector<int64_t> channels{usual.channels};
  for (int64_t fewer : {64, 256}) {
    const bool helps = fewer < usual.channels && p.g.oc == p.g.ic;
    if (helps) channels.push_back(fewer);
  }
  return kFields.Tunables({ValuesAround(usual.rows, rows), channels});
}

Params DepthwiseDefaults(const DepthwiseProblem& p, int lanes) {
  return kFields.Write(ChooseDepthwiseBlocking(p, lanes));
}

DepthwiseBlocking ReadDepthwiseBlocking(const Params& params, const DepthwiseProblem& p,
                                        int lanes) {
  const DepthwiseBlocking usual = ChooseDepthwiseBlocking(p, lanes);
  DepthwiseBlocking blocking = kFields.Read(params, usual);
  blocking.rows = std::max<int64_t>(blocking.rows, 1);
  // A lane has memory for what it plans of each row.
  if (p.pads()) blocking.rows = std::min(blocking.rows, kMostPaddedRows);
  // Passes begin where vectors and blocks of channels do.
  blocking.channels = std::clamp<int64_t>(blocking.channels, 1, usual.channels);
  blocking.channels = std::min(RoundUp(blocking.channels, kDepthwisePad), usual.channels);
  return blocking;
}

DepthwiseRunner::DepthwiseRunner(const DepthwiseProblem& problem, const DepthwiseBlocking& blocking)
    : p_(problem),
      blocking_(blocking),
      padded_plan_(problem.PlanPadded()),
      padded_(RoundUp(problem.g.oc, kDepthwisePad)),
      by_rows_(KernelRows() <= kMaxDepthwiseLines &&
               HasDepthwiseRow(problem.g.kernel[2], problem.g.stride[2], problem.g.dilation[2],
                               problem.in_bytes == 4)),
      row_tasks_(CeilDiv(problem.g.batch * problem.g.out[0] * problem.g.out[1], blocking.rows)),
      channel_tasks_(CeilDiv(problem.g.oc, blocking.channels)) {
  if (!pads()) return;
  const ConvGeometry& g = problem.g;
  padded_blocks_ = ChoosePadded(g.kernel[2], g.stride[2], padded_plan_.outputs / g.dilation[2],
                                CeilDiv(padded_plan_.outputs, g.dilation[2]));
}

DepthwiseRunner::Task DepthwiseRunner::TaskAt(int64_t i) const {
  // Rows of one piece of channels follow each other: they share lines.
  const int64_t row = i % row_tasks_ * blocking_.rows;
  const int64_t channel = i / row_tasks_ * blocking_.channels;
  return {row, std::min(row + blocking_.rows, p_.g.batch * p_.g.out[0] * p_.g.out[1]), channel,
          std::min(blocking_.channels, p_.g.oc - channel)};
}

int64_t DepthwiseRunner::PointerBytes() const {
  return by_rows_ && !IsVolume()
             ? 0
             : RoundUp(2 * KernelRows() * static_cast<int64_t>(sizeof(void*)), 64);
}

int64_t DepthwiseRunner::CopyBytes() const {
  return Multiplies() ? RoundUp(p_.g.kernel[0] * p_.g.kernel[1] * LineBytes(), 64) + 64 : 0;
}

DepthwiseCommon DepthwiseRunner::CommonOf(const DepthwiseMemory& memory, const Task& task) const {
  DepthwiseCommon common = memory.common;
  common.weights += task.channel;
  common.bias += task.channel;
  if (common.scale != nullptr) common.scale += task.channel;
  common.channels = task.channels;
  common.in_pixel = InPixel();
  return common;
}

void DepthwiseRunner::RunRow(const DepthwiseMemory& memory, const Task& task, int64_t row,
                             std::byte* out, int64_t out_pixel, std::byte* scratch) const {
  DepthwiseCommon common = CommonOf(memory, task);
  common.out_pixel = out_pixel;
  common.out = out;
  std::byte* const copies = scratch + PointerBytes();
  DepthwiseRow work;
  if (by_rows_ && LinesFollow(row)) {
    FewLines few;
    PlanRow(common, memory, row, task.channel, copies, few, work);
    return RunDepthwiseRow(work);
  }
  auto** lines = reinterpret_cast<const std::byte**>(scratch);
  auto** weights = reinterpret_cast<const float**>(lines + KernelRows());
  PlanRow(common, memory, row, task.channel, copies, {lines, weights}, work);
  RunDepthwiseTaps(work, weights);
}

void DepthwiseRunner::RunTask(const DepthwiseMemory& memory, const Task& task, std::byte* y,
                              std::byte* scratch) const {
  if (pads()) return RunPaddedTask(memory, task, reinterpret_cast<float*>(y), scratch);
  const PixelLayout& out = p_.pixels.out;
  const auto place = [&](int64_t row) {
    return y + out.Offset(ImageOf(row), PixelOf(row), task.channel) * p_.out_bytes;
  };
  // Copies of lines serve one row at a time; and one row shall not wait for room for several.
  if (!by_rows_ || IsVolume() || Multiplies() || task.row + 1 == task.end) {
    for (int64_t row = task.row; row < task.end; ++row)
      RunRow(memory, task, row, place(row), out.block, scratch);
    return;
  }
  constexpr int64_t kTogether = 8;
  DepthwiseCommon common = CommonOf(memory, task);
  common.out_pixel = out.block;
  FewLines lines[kTogether];
  DepthwiseRow rows[kTogether];
  for (int64_t row = task.row; row < task.end;) {
    const int64_t count = std::min(kTogether, task.end - row);
    for (int64_t i = 0; i < count; ++i, ++row) {
      common.out = place(row);
      PlanRow(common, memory, row, task.channel, nullptr, lines[i], rows[i]);
    }
    RunDepthwiseRows({rows, static_cast<size_t>(count)});
  }
}

bool DepthwiseRunner::LinesFollow(int64_t row) const {
  const ConvGeometry& g = p_.g;
  if (!IsVolume()) return true;
  const int64_t first = row % g.out[1] * g.stride[1] - g.pad[1];
  return first >= 0 && first + (g.kernel[1] - 1) * g.dilation[1] < g.in[1];
}

/// The input line that a kernel row meets, from a channel on; null outside of the input.
const std::byte* DepthwiseRunner::Line(const DepthwiseMemory& memory, int64_t row, int64_t channel,
                                       int64_t kd, int64_t kh, std::byte* copies) const {
  const ConvGeometry& g = p_.g;
  const int64_t oh = row % g.out[1], od = row / g.out[1] % g.out[0];
  const int64_t id = od * g.stride[0] - g.pad[0] + kd * g.dilation[0];
  const int64_t ih = oh * g.stride[1] - g.pad[1] + kh * g.dilation[1];
  if (id < 0 || id >= g.in[0] || ih < 0 || ih >= g.in[1]) return nullptr;
  const int64_t pixel = (id * g.in[1] + ih) * g.in[2];
  const std::byte* at = memory.x + p_.pixels.in.Offset(ImageOf(row), pixel, channel) * p_.in_bytes;
  if (!Multiplies()) return at;
  std::byte* copy = copies + (kd * g.kernel[1] + kh) * LineBytes();
  (p_.in_bytes == 1 ? ExpandLine<uint8_t> : ExpandLine<float>)(at, g.in[2] * g.ic, g.oc / g.ic,
                                                               copy);
  return copy;
}

void DepthwiseRunner::PlanRow(const DepthwiseCommon& common, const DepthwiseMemory& memory,
                              int64_t row, int64_t channel, std::byte* copies,
                              const LinesOfRow& found, DepthwiseRow& work) const {
  const ConvGeometry& g = p_.g;
  static_cast<DepthwiseCommon&>(work) = common;
  work.lines = found.lines;
  work.num_lines = 0;
  for (int64_t line = 0; line < KernelRows(); ++line) {
    const std::byte* at =
        Line(memory, row, channel, line / g.kernel[1], line % g.kernel[1], copies);
    if (at == nullptr) continue;
    found.lines[work.num_lines] = at;
    found.weights[work.num_lines++] = common.weights + line * g.kernel[2] * padded_;
  }
  if (work.num_lines > 0) work.weights = found.weights[0];
  work.zeros = memory.zeros;
  work.in_width = g.in[2];
  work.out_width = g.out[2];
  work.kernel_width = g.kernel[2];
  work.stride = g.stride[2];
  work.dilation = g.dilation[2];
  work.pad = g.pad[2];
}

}  // namespace fettle::kernels
