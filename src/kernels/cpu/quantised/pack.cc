#include "kernels/cpu/quantised/pack.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace fettle::kernels {
namespace {

/// The constants of a request, null where the group has none.
struct Constants {
  const Constant* w = nullptr;
  const Constant* w_scale = nullptr;
  const Constant* w_zero = nullptr;
  const Constant* bias = nullptr;
  const Constant* bias_scale = nullptr;
};

/// Element `i`, or the only one.
double At(const Constant* constant, int64_t i, double fallback) {
  if (constant == nullptr) return fallback;
  return constant->GetDouble(constant->elements() == 1 ? 0 : i);
}

class Packer {
 public:
  Packer(const QuantLayout& layout, const Constants& constants, std::byte* out)
      : l_(layout), c_(constants), out_(out) {}

  void PackPanels() {
    std::memset(out_, 0, static_cast<size_t>(l_.sums_offset()));
    auto* sums = reinterpret_cast<int32_t*>(out_ + l_.sums_offset());
    std::memset(sums, 0, static_cast<size_t>(l_.columns() * 4));
    if (l_.transposed) {
      std::vector<std::byte> row(static_cast<size_t>(l_.oc));
      for (int64_t i = 0; i < l_.ic; ++i) {
        c_.w->CopyTo(i * l_.oc, l_.oc, row.data());
        for (int64_t o = 0; o < l_.oc; ++o) Put(0, o, i, 0, row[static_cast<size_t>(o)], sums);
      }
      return;
    }
    std::vector<std::byte> filter(static_cast<size_t>(l_.ic * l_.kernel_taps));
    for (int64_t o = 0; o < l_.groups * l_.oc; ++o) {
      c_.w->CopyTo(o * l_.ic * l_.kernel_taps, l_.ic * l_.kernel_taps, filter.data());
      const std::byte* at = filter.data();
      for (int64_t i = 0; i < l_.ic; ++i) {
        for (int64_t t = 0; t < l_.kernel_taps; ++t) Put(o / l_.oc, o % l_.oc, i, t, *at++, sums);
      }
    }
  }

  /// `x_scale` in units of the output's scale `y_scale`.
  void PackColumns(double x_scale, double y_scale) {
    auto* zeros = reinterpret_cast<int32_t*>(out_ + l_.zeros_offset());
    auto* scales = reinterpret_cast<float*>(out_ + l_.scales_offset());
    auto* adds = reinterpret_cast<float*>(out_ + l_.adds_offset());
    auto* biases = reinterpret_cast<int32_t*>(out_ + l_.biases_offset());
    std::memset(zeros, 0, static_cast<size_t>(l_.bytes() - l_.zeros_offset()));
    for (int64_t channel = 0; channel < l_.groups * l_.oc; ++channel) {
      const int64_t n = Column(channel / l_.oc, channel % l_.oc);
      zeros[n] = l_.wide ? 0 : Zero(channel) - (l_.unsigned_w ? 128 : 0);
      const QuantisedColumn column =
          MakeQuantisedColumn(x_scale, At(c_.w_scale, channel, 1), y_scale, At(c_.bias, channel, 0),
                              At(c_.bias_scale, channel, 1));
      scales[n] = column.scale;
      adds[n] = column.add;
      biases[n] = column.bias;
    }
  }

 private:
  int64_t Column(int64_t group, int64_t o) const { return group * l_.panels() * l_.nr + o; }
  int32_t Zero(int64_t channel) const { return static_cast<int32_t>(At(c_.w_zero, channel, 0)); }

  void Put(int64_t group, int64_t o, int64_t i, int64_t t, std::byte byte, int32_t* sums) {
    const int32_t w = l_.unsigned_w ? static_cast<int32_t>(byte)
                                    : static_cast<int32_t>(static_cast<int8_t>(byte));
    const int64_t tap = i / l_.block() * l_.block_taps() + t / l_.tap_pixels();
    const int64_t j = t % l_.tap_pixels() * l_.block() + i % l_.block();
    std::byte* column =
        out_ + group * l_.group_bytes() + o / l_.nr * l_.panel_bytes() + o % l_.nr * 4;
    if (l_.wide) {
      const int64_t k = tap * l_.block() * l_.tap_pixels() + j;
      const auto value = static_cast<int16_t>(w - Zero(group * l_.oc + o));
      std::memcpy(column + k / 2 * l_.nr * 4 + k % 2 * 2, &value, sizeof(value));
      return;
    }
    const auto value = static_cast<int8_t>(l_.unsigned_w ? w - 128 : w);
    sums[Column(group, o)] += value;
    column[(tap * l_.steps() + j / 4) * l_.nr * 4 + j % 4] = static_cast<std::byte>(value);
  }

  const QuantLayout& l_;
  const Constants& c_;
  std::byte* out_;
};

}  // namespace

QuantisedColumn MakeQuantisedColumn(double x_scale, double w_scale, double y_scale, double bias,
                                    double bias_scale) {
  const float product = static_cast<float>(x_scale) * static_cast<float>(w_scale);
  QuantisedColumn column;
  column.scale = product / static_cast<float>(y_scale);
  const bool in_products = std::fabs(bias_scale - product) <= 1e-5 * std::fabs(product) &&
                           bias == std::nearbyint(bias) && std::fabs(bias) < 0x1p31;
  if (in_products) {
    column.bias = static_cast<int32_t>(bias);
  } else {
    column.add = static_cast<float>(bias * bias_scale / y_scale);
  }
  return column;
}

PackRequest MakeQuantPack(const QuantisedGroup& q, const QuantLayout& layout,
                          const QuantKernels& kernels) {
  PackRequest request;
  const ir::ValueId ids[] = {q.w, q.w_scale, q.w_zero, q.bias, q.bias_scale};
  unsigned present = 0;
  for (size_t i = 0; i < std::size(ids); ++i) {
    if (ids[i] == ir::kAbsent) continue;
    present |= 1U << i;
    request.constants.push_back(ids[i]);
  }
  const double y_scale = q.requantise ? q.requantise->scale : 1;
  request.recipe = fmt::format("quantised.{}.g{}.k{}.c{}.rows{}.t{}.of{}.x{}.y{}", kernels.name,
                               layout.groups, layout.kernel_width, layout.ic_block, layout.tap_rows,
                               layout.transposed, present, q.x_scale, y_scale);
  request.bytes = layout.bytes();
  request.pack = [layout, present, x_scale = q.x_scale, y_scale](
                     std::span<const Constant* const> constants, std::byte* out) {
    Constants named;
    const Constant** slots[] = {&named.w, &named.w_scale, &named.w_zero, &named.bias,
                                &named.bias_scale};
    size_t next = 0;
    for (size_t i = 0; i < std::size(slots); ++i) {
      if ((present >> i & 1U) != 0) *slots[i] = constants[next++];
    }
    Packer packer(layout, named, out);
    packer.PackPanels();
    packer.PackColumns(x_scale, y_scale);
    return OkStatus();
  };
  return request;
}

}  // namespace fettle::kernels
