#include "kernels/cpu/pool/byte_max.h"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/pool/byte_max.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The window of one output pixel.
template <typename T>
struct Window {
  const PoolPlan& plan;
  const T* x;  // of the image
  T* y;        // of the pixel
  const PoolTaps &d, &h, &w;

  /// `vectors` vectors of channels from `c` on.
  template <int vectors, class D>
  HWY_INLINE void Channels(D tag, int64_t c) const {
    const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
    const int64_t step = plan.dilation[2] * plan.channels;
    auto m0 = hn::Set(tag, std::numeric_limits<T>::lowest()), m1 = m0;
    for (int64_t kd = d.begin; kd < d.end; ++kd) {
      for (int64_t kh = h.begin; kh < h.end; ++kh) {
        const T* p = x + FirstTap(plan, d, h, w, kd, kh) + c;
        for (int64_t kw = w.begin; kw < w.end; ++kw, p += step) {
          m0 = hn::Max(m0, hn::LoadU(tag, p));
          if constexpr (vectors == 2) m1 = hn::Max(m1, hn::LoadU(tag, p + lanes));
        }
      }
    }
    hn::StoreU(m0, tag, y + c);
    if constexpr (vectors == 2) hn::StoreU(m1, tag, y + c + lanes);
  }

  /// All channels by vectors of at most `bytes`; the last one overlaps the one before it.
  template <size_t bytes>
  HWY_INLINE void Run() const {
    const hn::CappedTag<T, bytes> tag;
    const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
    if constexpr (bytes > 8) {
      if (plan.channels < lanes) return Run<bytes / 2>();
    }
    int64_t c = 0;
    for (; c + 2 * lanes <= plan.channels; c += 2 * lanes) Channels<2>(tag, c);
    for (; c + lanes <= plan.channels; c += lanes) Channels<1>(tag, c);
    if (c < plan.channels) Channels<1>(tag, plan.channels - lanes);
  }
};

template <typename T>
void RowOf(const PoolPlan& plan, const std::byte* x, std::byte* y, int64_t row) {
  const int64_t oh = row % plan.out[1], od = row / plan.out[1] % plan.out[0],
                n = row / (plan.out[1] * plan.out[0]);
  const int64_t image = plan.in[0] * plan.in[1] * plan.in[2] * plan.channels;
  const PoolTaps d(plan, 0, od), h(plan, 1, oh);
  for (int64_t ow = 0; ow < plan.out[2]; ++ow) {
    const PoolTaps w(plan, 2, ow);
    const Window<T> window{plan,
                           reinterpret_cast<const T*>(x) + n * image,
                           reinterpret_cast<T*>(y) + (row * plan.out[2] + ow) * plan.channels,
                           d,
                           h,
                           w};
    window.template Run<HWY_LANES(uint8_t)>();
  }
}

void MaxBytesRowOnTarget(const PoolPlan& plan, const std::byte* x, std::byte* y, int64_t row) {
  plan.storage == DType::kU8 ? RowOf<uint8_t>(plan, x, y, row) : RowOf<int8_t>(plan, x, y, row);
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(MaxBytesRowOnTarget);

void MaxBytesRow(const PoolPlan& plan, const std::byte* x, std::byte* y, int64_t row) {
  HWY_DYNAMIC_DISPATCH(MaxBytesRowOnTarget)(plan, x, y, row);
}

}  // namespace fettle::kernels
#endif
