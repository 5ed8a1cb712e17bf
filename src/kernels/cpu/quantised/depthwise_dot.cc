// cpu.quantised.depthwise.dot: depthwise convolutions of bytes, channels-last, requantised. A line
// of the output is computed in pieces: the columns that a piece reads are interleaved once, kernel
// row by kernel row in fours, and every output that reads a column takes it from there.
#include "kernels/cpu/quantised/depthwise_dot.h"

#include <algorithm>
#include <cstring>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/conv/operands.h"
#include "kernels/cpu/depthwise/runner.h"
#include "kernels/cpu/epilogue/epilogue.h"
#include "kernels/cpu/quantised/microkernel.h"
#include "kernels/cpu/quantised/operands.h"
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
  if (q.core->op != "Conv"_op) return Unsupported("{} is no convolution", q.core->op);
  ASSIGN_OR_RETURN(const ConvGeometry g, ReadDepthwiseGeometry(group, *q.core));
  if (g.oc != g.ic) return Unsupported("a channel multiplier");
  if (g.in[0] != 1 || g.kernel[0] != 1 || g.out[0] != 1) return Unsupported("three spatial axes");
  if (g.pixels() == 0) return Unsupported("an empty output");
  if (!q.requantise || !ResultsAreBounded(group, q, g.oc))
    return Unsupported("results that are no bytes, or too large");
  if (!WeightZerosAre(group, q, group.value(q.w).dtype == DType::kU8 ? 128 : 0))
    return Unsupported("zero points of the weights");
  return Facts{q, g};
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts&, const Device&) {
  ASSIGN_OR_RETURN(StateAssignment states, ChannelsLastStates(group));
  return std::vector<StateAssignment>{std::move(states)};
}

/// The packed form, by blocks of kDotChannels channels in the order of DotPlace: weights
/// [block][kernel column][four rows][channel][4]; then of all channels the sum of the weights, the
/// bias, the scale and the addend.
struct DotLayout {
  int64_t channels, kernel_h, kernel_w;
  bool unsigned_w;

  int64_t row_groups() const { return CeilDiv(kernel_h, kDotTaps); }
  int64_t taps() const { return kernel_w * row_groups(); }
  int64_t blocks() const { return CeilDiv(channels, kDotChannels); }
  int64_t block_bytes() const { return taps() * kDotBytes; }
  int64_t columns() const { return blocks() * kDotChannels; }
  int64_t sums_offset() const { return blocks() * block_bytes(); }
  int64_t biases_offset() const { return sums_offset() + columns() * 4; }
  int64_t scales_offset() const { return biases_offset() + columns() * 4; }
  int64_t adds_offset() const { return scales_offset() + columns() * 4; }
  int64_t bytes() const { return adds_offset() + columns() * 4; }
};

void Pack(const DotLayout& l, const QuantConstants& constants, double x_scale, double y_scale,
          std::byte* out) {
  std::memset(out, 0, l.bytes());
  auto* sums = reinterpret_cast<int32_t*>(out + l.sums_offset());
  auto* biases = reinterpret_cast<int32_t*>(out + l.biases_offset());
  auto* scales = reinterpret_cast<float*>(out + l.scales_offset());
  auto* adds = reinterpret_cast<float*>(out + l.adds_offset());
  for (int64_t c = 0; c < l.channels; ++c) {
    const int64_t block = c / kDotChannels, place = DotPlace(c % kDotChannels);
    std::byte* at = out + block * l.block_bytes() + place * 4;
    const int64_t n = block * kDotChannels + place;
    for (int64_t h = 0; h < l.kernel_h; ++h) {
      for (int64_t w = 0; w < l.kernel_w; ++w) {
        const int64_t i = (c * l.kernel_h + h) * l.kernel_w + w;
        const auto value = static_cast<int8_t>(constants.w->GetInt(i) - (l.unsigned_w ? 128 : 0));
        at[(w * l.row_groups() + h / kDotTaps) * kDotBytes + h % kDotTaps] =
            static_cast<std::byte>(value);
        sums[n] += value;
      }
    }
    const QuantisedColumn column = constants.Column(c, x_scale, y_scale);
    biases[n] = column.bias;
    scales[n] = column.scale;
    adds[n] = column.add;
  }
}

class DepthwiseDot final : public PreparedKernel {
 public:
  DepthwiseDot(const Problem& problem, const Facts& facts, const CpuDevice& device)
      : group_(problem.group),
        q_(facts.q),
        g_(facts.g),
        layout_{g_.oc, g_.kernel[1], g_.kernel[2], group_->value(q_.w).dtype == DType::kU8},
        input_(IndexOf(group_->inputs, q_.x)),
        signed_x_(group_->value(q_.x).dtype == DType::kI8),
        signed_y_(problem.states.outputs[0].storage == DType::kI8),
        lanes_(device.pool().threads()) {
    const int64_t column = layout_.row_groups() * kDotBytes;
    const int64_t most = std::max<int64_t>(kColumnBytes / column, 1);
    const int64_t reach = (g_.kernel[2] - 1) * g_.dilation[2];
    piece_ = std::min(g_.out[2], std::max<int64_t>((most - reach - 1) / g_.stride[2] + 1, 4));
    columns_ = (piece_ - 1) * g_.stride[2] + reach + 1;
    task_lines_ = std::clamp<int64_t>(kTaskMacs / (g_.out[2] * g_.oc * g_.taps()), 1, g_.out[1]);
    for (int64_t w = 0; w < g_.kernel[2]; ++w) {
      for (int64_t r = 0; r < layout_.row_groups(); ++r)
        tap_offsets_.push_back(w * g_.dilation[2] * column + r * kDotBytes);
    }
  }

  std::vector<PackRequest> packs() const override {
    PackRequest request = QuantConstants::Request(q_);
    const std::string present = std::exchange(request.recipe, {});
    const double y_scale = q_.requantise->scale;
    request.recipe = fmt::format("quantised.depthwise.dot.k{}x{}.of{}.x{}.y{}", layout_.kernel_h,
                                 layout_.kernel_w, present, q_.x_scale, y_scale);
    request.bytes = layout_.bytes();
    request.pack = [layout = layout_, present, x_scale = q_.x_scale, y_scale](
                       std::span<const Constant* const> constants, std::byte* out) {
      Pack(layout, QuantConstants::Of(present, constants), x_scale, y_scale, out);
      return OkStatus();
    };
    return {std::move(request)};
  }

  int64_t workspace_bytes() const override { return SharedBytes() + lanes_ * LaneBytes(); }

  Status Launch(const LaunchArgs& args) const override {
    const auto zero = static_cast<int32_t>(
        q_.x_zero == ir::kAbsent ? 0 : group_->value(q_.x_zero).constant->GetInt(0));
    std::byte* shared = args.workspace.host<std::byte>();
    std::memset(shared, zero, kDotChannels);
    const std::byte* blob = args.packed[0].host<std::byte>();
    const auto* sums = reinterpret_cast<const int32_t*>(blob + layout_.sums_offset());
    const auto* biases = reinterpret_cast<const int32_t*>(blob + layout_.biases_offset());
    auto* init = reinterpret_cast<int32_t*>(shared + kDotChannels);
    const int32_t unsigned_zero = zero + (signed_x_ ? 128 : 0);
    for (int64_t n = 0; n < layout_.columns(); ++n) init[n] = biases[n] - unsigned_zero * sums[n];
    const int64_t per_image = CeilDiv(g_.out[1], task_lines_);
    static_cast<CpuStream&>(args.stream)
        .ParallelFor(g_.batch * per_image, [&](int64_t task, int lane) {
          const int64_t first = task % per_image * task_lines_;
          std::byte* scratch = shared + SharedBytes() + lane * LaneBytes();
          for (int64_t y = first; y < std::min(first + task_lines_, g_.out[1]); ++y)
            RunLine(args, init, task / per_image, y, scratch);
        });
    return OkStatus();
  }

 private:
  // The workspace: a pixel of padding, the sums' first values, then per lane the columns.
  int64_t SharedBytes() const { return kDotChannels + layout_.columns() * 4; }
  int64_t LaneBytes() const { return columns_ * layout_.row_groups() * kDotBytes; }

  /// Line `y` of an output image.
  void RunLine(const LaunchArgs& args, const int32_t* init, int64_t image, int64_t y,
               std::byte* scratch) const {
    const std::byte* blob = args.packed[0].host<std::byte>();
    uint8_t* out = args.outputs[0].host<uint8_t>() + (image * g_.out[1] + y) * g_.out[2] * g_.oc;
    for (int64_t c = 0; c < g_.oc; c += kDotChannels) {
      DotRowArgs row;
      row.columns = scratch;
      row.pixel_step = g_.stride[2] * layout_.row_groups() * kDotBytes;
      row.taps = layout_.taps();
      row.tap_offsets = tap_offsets_.data();
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
      for (int64_t x = 0; x < g_.out[2]; x += piece_) {
        row.pixels = std::min(piece_, g_.out[2] - x);
        row.out = out + x * g_.oc + c;
        Interleave(args, image, y, x, c, scratch);
        RunDotRow(row);
      }
    }
  }

  /// The columns that the piece from output pixel (x, y) on reads, channels from `c` on.
  void Interleave(const LaunchArgs& args, int64_t image, int64_t y, int64_t x, int64_t c,
                  std::byte* scratch) const {
    const uint8_t* in =
        args.inputs[input_].host<uint8_t>() + image * g_.in[1] * g_.in[2] * g_.ic + c;
    const auto* padding = args.workspace.host<uint8_t>();
    const int64_t pixels = std::min(piece_, g_.out[2] - x);
    const int64_t count = (pixels - 1) * g_.stride[2] + (g_.kernel[2] - 1) * g_.dilation[2] + 1;
    const int64_t first = x * g_.stride[2] - g_.pad[2];
    const int64_t begin = std::clamp<int64_t>(-first, 0, count);
    const int64_t end = std::clamp<int64_t>(g_.in[2] - first, begin, count);
    for (int64_t r = 0; r < layout_.row_groups(); ++r) {
      InterleaveArgs inside, outside;
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
      const auto run = [&](InterleaveArgs& columns, int64_t from, int64_t to) {
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
  int lanes_;
  int64_t piece_, columns_;  // output pixels that are computed at once, and what they read
  int64_t task_lines_;
  std::vector<int64_t> tap_offsets_;
};

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Facts& facts,
                                                const Params&, const Device& device) {
  return std::unique_ptr<PreparedKernel>(
      std::make_unique<DepthwiseDot>(problem, facts, static_cast<const CpuDevice&>(device)));
}

constexpr Family<Facts> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .taste = Always<26>};

}  // namespace

extern const KernelDesc kCpuQuantisedDepthwiseDot;
const KernelDesc kCpuQuantisedDepthwiseDot = {.name = "cpu.quantised.depthwise.dot",
                                              .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
