#include "kernels/cpu/quantised_depthwise/pack.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

namespace fettle::kernels {
namespace {

void Pack(const DotLayout& l, const QuantConstants& constants, double x_scale, double y_scale,
          std::byte* out) {
  std::memset(out, 0, l.bytes());
  auto* sums = reinterpret_cast<int32_t*>(out + l.sums_offset());
  auto* biases = reinterpret_cast<int32_t*>(out + l.biases_offset());
  auto* scales = reinterpret_cast<float*>(out + l.scales_offset());
  auto* adds = reinterpret_cast<float*>(out + l.adds_offset());
  const auto channel = [&](int64_t c, int64_t place) {
    const int64_t block = c / kDotChannels, n = block * kDotChannels + place;
    std::byte* at = out + block * l.block_bytes() + place * 4;
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
  };
  for (int64_t c = 0; c < l.channels; ++c) {
    const int64_t in_block = c % kDotChannels;
    channel(c, DotPlace(in_block));
    if (l.channels - (c - in_block) <= kHalfChannels)
      channel(c, DotPlace(in_block + kHalfChannels));
  }
}

}  // namespace

PackRequest MakeDotPack(const QuantisedGroup& q, const DotLayout& layout) {
  PackRequest request = QuantConstants::Request(q);
  const std::string present = std::exchange(request.recipe, {});
  const double y_scale = q.requantise->scale;
  request.recipe = fmt::format("quantised.depthwise.dot2.k{}x{}.of{}.x{}.y{}", layout.kernel_h,
                               layout.kernel_w, present, q.x_scale, y_scale);
  request.bytes = layout.bytes();
  request.pack = [layout, present, x_scale = q.x_scale, y_scale](
                     std::span<const Constant* const> constants, std::byte* out) {
    Pack(layout, QuantConstants::Of(present, constants), x_scale, y_scale, out);
    return OkStatus();
  };
  return request;
}

}  // namespace fettle::kernels
