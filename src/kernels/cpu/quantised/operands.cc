// compiled: small
#include "kernels/cpu/quantised/operands.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/epilogue/epilogue.h"

namespace fettle::kernels {

QuantLayout ReadQuantLayout(const ir::Graph& group, const QuantisedGroup& q,
                            const QuantShapes& shapes, const TapPlan& taps) {
  const ConvGeometry& g = shapes.g;
  const bool unsigned_w = group.value(q.w).dtype == DType::kU8;
  return {.groups = g.groups,
          .oc = g.oc / g.groups,
          .ic = g.ic / g.groups,
          .kernel_taps = g.taps(),
          .kernel_width = g.kernel[2],
          .ic_block = taps.in.is_channels_last() ? 0 : taps.in.block,
          .tap_rows = taps.rows,
          .merged = shapes.merged,
          .transposed = shapes.transposed,
          .unsigned_w = unsigned_w,
          .w_shift = unsigned_w ? 128 : 0};
}

void QuantShapes::MergeGroups(int64_t nr, int64_t most_depth) {
  const int64_t oc = g.oc / g.groups, depth = g.ic / g.groups * g.taps();
  for (merged = std::min({nr / oc, most_depth / depth, g.groups}); merged > 1; --merged)
    if (g.groups % merged == 0) break;
  merged = std::max<int64_t>(merged, 1);
  g.groups /= merged;
}

bool WeightZerosAre(const ir::Graph& group, const QuantisedGroup& q, int64_t zero) {
  if (q.w_zero == ir::kAbsent) return zero == 0;
  const Constant& zeros = *group.value(q.w_zero).constant;
  for (int64_t i = 0; i < zeros.elements(); ++i) {
    if (zeros.GetInt(i) != zero) return false;
  }
  return true;
}

bool ResultsAreBounded(const ir::Graph& group, const QuantisedGroup& q, int64_t channels) {
  const QuantConstants constants = QuantConstants::Of(group, q);
  for (int64_t c = 0; c < channels; ++c) {
    const QuantisedColumn column = constants.Column(c, q.x_scale, q.quantiser()->scale);
    const double most = std::fabs(column.scale) * 0x1p31 + std::fabs(column.add);
    if (!(most < 0x1p31 - 256)) return false;
  }
  return true;
}

QuantOperands::QuantOperands(std::shared_ptr<const ir::Graph> group, const QuantisedGroup& q,
                             const QuantLayout& layout, bool flips)
    : group_(std::move(group)),
      layout_(layout),
      x_zero_(q.x_zero),
      input_(IndexOf(group_->inputs, q.x)),
      signed_x_(group_->value(q.x).dtype == DType::kI8),
      flips_(flips),
      row_sums_(!layout.wide && !layout.terms && !WeightZerosAre(*group_, q, layout.w_shift)) {
  const Constant* zeros = QuantConstants::Of(*group_, q).w_zero;
  const int64_t zero = zeros == nullptr ? 0 : zeros->GetInt(0);
  if (WeightZerosAre(*group_, q, zero)) w_zero_ = static_cast<uint32_t>(zero - layout.w_shift);
  if (x_zero_ != ir::kAbsent && !group_->value(x_zero_).is_constant())
    zero_input_ = IndexOf(group_->inputs, x_zero_);
}

int32_t QuantOperands::InputZero(const LaunchArgs& args) const {
  if (x_zero_ == ir::kAbsent) return 0;
  if (zero_input_ < 0) return static_cast<int32_t>(group_->value(x_zero_).constant->GetInt(0));
  const Location& at = args.inputs[zero_input_];
  return signed_x_ ? *at.host<int8_t>() : *at.host<uint8_t>();
}

void QuantOperands::FillInit(const LaunchArgs& args, int32_t zero, int32_t* init) const {
  const std::byte* blob = args.packed[0].host<std::byte>();
  const auto* sums = reinterpret_cast<const int32_t*>(blob + layout_.sums_offset());
  const auto* zeros = reinterpret_cast<const int32_t*>(blob + layout_.zeros_offset());
  const auto* biases = reinterpret_cast<const int32_t*>(blob + layout_.biases_offset());
  const int32_t x_zero = layout_.wide ? 0 : zero + (signed_x_ && flips_ ? 128 : 0);
  const auto depth = static_cast<uint32_t>(layout_.ic * layout_.kernel_taps);
  // sum (x - zx)(w - zw) = sum xw - zx sum w - zw sum x + K zx zw. The parts may wrap around; their
  // sum with the products does not.
  for (int64_t n = 0; n < layout_.columns(); ++n) {
    const uint32_t column =
        depth * static_cast<uint32_t>(zeros[n]) - static_cast<uint32_t>(sums[n]);
    init[n] = static_cast<int32_t>(static_cast<uint32_t>(x_zero) * column +
                                   static_cast<uint32_t>(biases[n]));
  }
}

}  // namespace fettle::kernels
