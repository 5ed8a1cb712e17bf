// Maxima of windows of 2 by 2 and 3 by 3 floats.
#if defined(FETTLE_KERNELS_CPU_POOL_WHOLE_WINDOWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FETTLE_KERNELS_CPU_POOL_WHOLE_WINDOWS_INL_H_
#undef FETTLE_KERNELS_CPU_POOL_WHOLE_WINDOWS_INL_H_
#else
#define FETTLE_KERNELS_CPU_POOL_WHOLE_WINDOWS_INL_H_
#endif

#include <algorithm>

#include "hwy/highway.h"
#include "kernels/cpu/pool/row.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The pixels [begin, end) of an output row whose windows lie inside, where those are of 2 by 2 or
/// 3 by 3 taps, pixels are whole vectors and the pooling is a maximum; otherwise none. Where a
/// pixel is one or few vectors, loops over taps and looks at borders take longer than the taps.
struct WholeWindows {
  const PoolPlan& plan;
  int64_t taps;
  int64_t begin = 0, end = 0;

  /// `planes` and `rows` of the window are inside.
  HWY_INLINE WholeWindows(const PoolPlan& plan, int64_t planes, int64_t rows)
      : plan(plan), taps(rows) {
    const bool square = planes == 1 && rows == plan.kernel[1] && rows == plan.kernel[2];
    const bool vectors = plan.channels % static_cast<int64_t>(HWY_LANES(float)) == 0;
    if (!plan.max || !square || (rows != 2 && rows != 3) || !vectors) return;
    const int64_t stride = plan.stride[2], pad = plan.pad_begin[2];
    const int64_t room = plan.in[2] - 1 - (rows - 1) * plan.dilation[2] + pad;
    begin = std::min((pad + stride - 1) / stride, plan.out[2]);
    end = room < 0 ? begin : std::clamp(room / stride + 1, begin, plan.out[2]);
  }

  /// From the first tap of pixel `begin` to that pixel; rows lie row_step apart.
  HWY_INLINE void Maxima(const float* x, int64_t row_step, float* y) const {
    taps == 2 ? MaximaOf<2>(x, row_step, y) : MaximaOf<3>(x, row_step, y);
  }

 private:
  template <int64_t kTaps>
  HWY_INLINE void MaximaOf(const float* x, int64_t row_step, float* y) const {
    const hn::ScalableTag<float> tag;
    const int64_t column_step = plan.dilation[2] * plan.channels;
    const int64_t pixel_step = plan.stride[2] * plan.channels;
    for (int64_t i = begin; i < end; ++i, x += pixel_step, y += plan.pitch) {
      for (int64_t c = 0; c < plan.channels; c += static_cast<int64_t>(hn::Lanes(tag))) {
        auto most = hn::LoadU(tag, x + c);
        for (int64_t tap = 1; tap < kTaps * kTaps; ++tap) {
          const float* from = x + tap / kTaps * row_step + tap % kTaps * column_step;
          most = hn::Max(most, hn::LoadU(tag, from + c));
        }
        hn::StoreU(most, tag, y + c);
      }
    }
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#endif  // toggled per target
