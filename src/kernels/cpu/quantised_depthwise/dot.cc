// cpu.quantised.depthwise.dot: depthwise convolutions of bytes, channels-last, requantised. Columns
// of kernels of up to 3x3 are interleaved in registers and stay there until no output reads them.
// Of others a line of the output is computed in pieces: the columns that a piece reads are
// interleaved once, kernel row by kernel row in fours, and every output takes them from there.
#include "kernels/cpu/quantised_depthwise/dot.h"

#include <algorithm>
#include <cstring>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/conv/operands.h"
#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/depthwise/runner.h"
#include "kernels/cpu/epilogue/epilogue.h"
#include "kernels/cpu/quantised/microkernel.h"
#include "kernels/cpu/quantised/operands.h"
#include "kernels/cpu/quantised_depthwise/pack.h"
#include "kernels/family.h"

namespace fettle::kernels {
namespace {

/// What the interleaved columns of a piece may take of the first-level cache.
constexpr int64_t kColumnBytes = 24 * 1024;
constexpr int64_t kTaskMacs = 200'000;

struct Facts {
  QuantisedGroup q;
  ConvGeometry g;
};

Result<Facts> Read(const ir::Graph& group, const Device&) {
  if (!RunsAvx512Vnni()) return Unsupported("no dot products of bytes (AVX-512 VNNI)");
  ASSIGN_OR_RETURN(const QuantisedGroup q, ReadQuantisedGroup(group));
  if (q.core->op != "Conv"_op) return Unsupported("{} is not a convolution", q.core->op);
  ASSIGN_OR_RETURN(const ConvGeometry g, ReadDepthwiseGeometry(group, *q.core));
  if (g.oc != g.ic) return Unsupported("a channel multiplier");
  if (!g.IsImage()) return Unsupported("three spatial axes");
  if (g.pixels() == 0) return Unsupported("an empty output");
  if (!q.requantise || !ResultsAreBounded(group, q, g.oc))
    return Unsupported("results that are not bytes, or too large");
  if (!WeightZerosAre(group, q, group.value(q.w).dtype == DType::kU8 ? 128 : 0))
    return Unsupported("zero points of the weights");
  return Facts{q, g};
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts&, const Device&) {
  ASSIGN_OR_RETURN(StateAssignment states, ChannelsLastStates(group));
  return std::vector<StateAssignment>{std::move(states)};
}

class DepthwiseDot final : public CpuKernel {
 public:
  DepthwiseDot(const Problem& problem, const Facts& facts)
      : CpuKernel(problem.threads),
        group_(problem.group),
        q_(facts.q),
        g_(facts.g),
        layout_{g_.oc, g_.kernel[1], g_.kernel[2], group_->value(q_.w).dtype == DType::kU8},
        input_(IndexOf(group_->inputs, q_.x)),
        signed_x_(group_->value(q_.x).dtype == DType::kI8),
        signed_y_(problem.states.outputs[0].storage == DType::kI8) {
    const int64_t column = layout_.row_groups() * kDotBytes;
    const int64_t most = std::max<int64_t>(kColumnBytes / column, 1);
    const int64_t reach = (g_.kernel[2] - 1) * g_.dilation[2];
    piece_ = std::min(g_.out[2], std::max<int64_t>((most - reach - 1) / g_.stride[2] + 1, 4));
    columns_ = (piece_ - 1) * g_.stride[2] + reach + 1;
    interleaved_ = PerLane<std::byte>(columns_ * column);
    task_lines_ = std::clamp<int64_t>(kTaskMacs / (g_.out[2] * g_.oc * g_.taps()), 1, g_.out[1]);
    for (int64_t w = 0; w < g_.kernel[2]; ++w) {
      for (int64_t r = 0; r < layout_.row_groups(); ++r)
        tap_offsets_.push_back(w * g_.dilation[2] * column + r * kDotBytes);
    }
  }

  std::vector<PackRequest> packs() const override { return {MakeDotPack(q_, layout_)}; }

  Status Run(const CpuLaunch& args) const override {
    const auto zero = static_cast<int32_t>(
        q_.x_zero == ir::kAbsent ? 0 : group_->value(q_.x_zero).constant->GetInt(0));
    std::memset(args.At(padding_), zero, kDotChannels);
    const std::byte* blob = args.packed[0].host<std::byte>();
    const auto* sums = reinterpret_cast<const int32_t*>(blob + layout_.sums_offset());
    const auto* biases = reinterpret_cast<const int32_t*>(blob + layout_.biases_offset());
    int32_t* init = args.At(init_);
    const int32_t unsigned_zero = zero + (signed_x_ ? 128 : 0);
    for (int64_t n = 0; n < layout_.columns(); ++n) init[n] = biases[n] - unsigned_zero * sums[n];
    const int64_t per_image = CeilDiv(g_.out[1], task_lines_);
    args.stream.ParallelFor(g_.batch * per_image, [&](int64_t task, int lane) {
      const int64_t first = task % per_image * task_lines_;
      const int64_t end = std::min(first + task_lines_, g_.out[1]);
      for (int64_t y = first; y < end; ++y) {
        if (StaysInRegisters()) {
          RunBlocks(args, init, {task / per_image, y, end, (y - first) % 2 == 0});
        } else {
          RunLine(args, init, task / per_image, y, args.At(interleaved_, lane));
        }
      }
    });
    return OkStatus();
  }

 private:
  bool StaysInRegisters() const {
    return g_.kernel[1] <= 3 && g_.kernel[2] == 3 && g_.dilation[2] == 1 && g_.stride[2] <= 2;
  }

  /// What all outputs of channels from `c` on have in common; others of the fields are left.
  DotRowArgs RowOf(const CpuLaunch& args, const int32_t* init, int64_t c) const {
    const std::byte* blob = args.packed[0].host<std::byte>();
    DotRowArgs row;
    row.weights = blob + c / kDotChannels * layout_.block_bytes();
    row.init = init + c;
    row.scale = reinterpret_cast<const float*>(blob + layout_.scales_offset()) + c;
    row.add = reinterpret_cast<const float*>(blob + layout_.adds_offset()) + c;
    row.zero = q_.requantise->zero;
    row.low = q_.requantise->low;
    row.high = q_.requantise->high;
    row.is_signed = signed_y_;
    row.channels = std::min(kDotChannels, g_.oc - c);
    row.out_step = g_.oc;
    return row;
  }

  /// Line `y` of those before `end` of an output image; whether it begins a pair of lines.
  struct Line {
    int64_t image, y, end;
    bool begins_pair;
  };

  /// A line by blocks of channels; a last block of half a vector with its second line, if it has
  /// one.
  void RunBlocks(const CpuLaunch& args, const int32_t* init, const Line& at) const {
    uint8_t* out =
        args.outputs[0].host<uint8_t>() + (at.image * g_.out[1] + at.y) * g_.out[2] * g_.oc;
    DotLinesArgs lines;
    lines.padding = args.At(padding_);
    lines.flip = signed_x_ ? 0x80 : 0;
    lines.width = g_.in[2];
    lines.first_column = -g_.pad[2];
    lines.stride = g_.stride[2];
    for (int64_t c = 0; c < g_.oc; c += kDotChannels) {
      lines.row = RowOf(args, init, c);
      lines.row.pixels = g_.out[2];
      lines.row.out = out + c;
      lines.halves = g_.oc - c <= kHalfChannels;
      if (lines.halves && !at.begins_pair) continue;
      const bool second = lines.halves && at.y + 1 < at.end;
      lines.second_out = second ? lines.row.out + g_.out[2] * g_.oc : nullptr;
      for (int line = 0; line < 2; ++line)
        FindLines(args, at.image, at.y + (second ? line : 0), c, line, lines);
      RunDotLines(lines);
    }
  }

  /// The input's lines that output line `y` reads, channels from `c` on.
  void FindLines(const CpuLaunch& args, int64_t image, int64_t y, int64_t c, int line,
                 DotLinesArgs& lines) const {
    const uint8_t* in =
        args.inputs[input_].host<uint8_t>() + image * g_.in[1] * g_.in[2] * g_.ic + c;
    for (int64_t r = 0; r < 3; ++r) {
      const int64_t from = y * g_.stride[1] - g_.pad[1] + r * g_.dilation[1];
      const bool reads = r < g_.kernel[1] && from >= 0 && from < g_.in[1];
      lines.lines[line][r] = reads ? in + from * g_.in[2] * g_.ic : lines.padding;
      lines.steps[line][r] = reads ? g_.ic : 0;
    }
  }

  /// Line `y` of an output image.
  void RunLine(const CpuLaunch& args, const int32_t* init, int64_t image, int64_t y,
               std::byte* scratch) const {
    uint8_t* out = args.outputs[0].host<uint8_t>() + (image * g_.out[1] + y) * g_.out[2] * g_.oc;
    for (int64_t c = 0; c < g_.oc; c += kDotChannels) {
      DotRowArgs row = RowOf(args, init, c);
      row.columns = scratch;
      row.pixel_step = g_.stride[2] * layout_.row_groups() * kDotBytes;
      row.taps = layout_.taps();
      row.tap_offsets = tap_offsets_.data();
      for (int64_t x = 0; x < g_.out[2]; x += piece_) {
        row.pixels = std::min(piece_, g_.out[2] - x);
        row.out = out + x * g_.oc + c;
        Interleave(args, image, y, x, c, scratch);
        RunDotRow(row);
      }
    }
  }

  /// The columns that the piece from output pixel (x, y) on reads, channels from `c` on.
  void Interleave(const CpuLaunch& args, int64_t image, int64_t y, int64_t x, int64_t c,
                  std::byte* scratch) const {
    const uint8_t* in =
        args.inputs[input_].host<uint8_t>() + image * g_.in[1] * g_.in[2] * g_.ic + c;
    const uint8_t* padding = args.At(padding_);
    const int64_t pixels = std::min(piece_, g_.out[2] - x);
    const int64_t count = (pixels - 1) * g_.stride[2] + (g_.kernel[2] - 1) * g_.dilation[2] + 1;
    const int64_t first = x * g_.stride[2] - g_.pad[2];
    const int64_t begin = std::clamp<int64_t>(-first, 0, count);
    const int64_t end = std::clamp<int64_t>(g_.in[2] - first, begin, count);
    for (int64_t r = 0; r < layout_.row_groups(); ++r) {
      ColumnsArgs inside, outside;
      inside.flip = outside.flip = signed_x_ ? 0x80 : 0;
      inside.out_step = outside.out_step = layout_.row_groups() * kDotBytes;
      for (int t = 0; t < kDotTaps; ++t) {
        // Rows behind the kernel's last one have no weights.
        const int64_t kh = r * kDotTaps + t;
        const int64_t line = y * g_.stride[1] - g_.pad[1] + kh * g_.dilation[1];
        const bool reads = kh < g_.kernel[1] && line >= 0 && line < g_.in[1] && begin < end;
        inside.lines[t] = reads ? in + (line * g_.in[2] + first + begin) * g_.ic : padding;
        inside.steps[t] = reads ? g_.ic : 0;
        outside.lines[t] = padding;
      }
      const auto run = [&](ColumnsArgs& columns, int64_t from, int64_t to) {
        columns.count = to - from;
        columns.out = scratch + from * columns.out_step + r * kDotBytes;
        InterleaveColumns(columns);
      };
      run(outside, 0, begin);
      run(inside, begin, end);
      run(outside, end, count);
    }
  }

  std::shared_ptr<const ir::Graph> group_;
  QuantisedGroup q_;
  ConvGeometry g_;
  DotLayout layout_;
  int input_;
  bool signed_x_, signed_y_;
  int64_t piece_, columns_;  // output pixels that are computed at once, and what they read
  int64_t task_lines_;
  std::vector<int64_t> tap_offsets_;
  RunScratch<uint8_t> padding_ = PerRun<uint8_t>(kDotChannels);  // a pixel
  RunScratch<int32_t> init_ = PerRun<int32_t>(layout_.columns());
  LaneScratch<std::byte> interleaved_;  // columns of a piece
};

constexpr Family<Facts> kFamily{
    .read = Read, .states = States, .prepare = Make<DepthwiseDot>, .taste = Always<26>};

}  // namespace

extern const KernelDesc kCpuQuantisedDepthwiseDot;
const KernelDesc kCpuQuantisedDepthwiseDot = {
    .name = "cpu.quantised.depthwise.dot", .version = 2, .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
