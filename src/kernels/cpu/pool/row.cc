// compiled: by hand
#include "kernels/cpu/pool/row.h"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/pool/row.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

#include "kernels/cpu/pool/whole_windows-inl.h"
#include "kernels/cpu/simd/load-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {

template <bool max, class V>
HWY_INLINE V Join(V a, V b) {
  if constexpr (max) return hn::Max(a, b);
  return hn::Add(a, b);
}

/// Everything about one output pixel.
template <typename T>
struct Pixel {
  const PoolPlan& plan;
  const T* x;                                 // channel 0 of the first tap that is inside
  T* y;                                       // of the pixel
  int64_t planes, rows, columns;              // taps inside
  int64_t plane_step, row_step, column_step;  // elements from tap to tap
  float scale;

  /// `vectors` vectors of channels from `c` on; `last` lanes of the last one.
  template <bool max, int vectors>
  HWY_INLINE void Channels(int64_t c, int64_t last) const {
    const hn::ScalableTag<float> tag;
    using V = hn::Vec<decltype(tag)>;
    const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
    const auto load = [&](const T* p, int i) HWY_ATTR -> V {
      return vectors == 1 && last < lanes ? LoadSomeFloats(tag, p, last)
                                          : LoadFloats(tag, p + i * lanes);
    };
    const float start = max ? std::numeric_limits<float>::lowest() : 0.0f;
    V s0 = hn::Set(tag, start), s1 = s0, s2 = s0, s3 = s0;
    if (max && planes > 0 && rows > 0 && columns > 0) {
      // A maximum starts from an element, which may be -infinity.
      const T* p = x + c;
      s0 = load(p, 0);
      if constexpr (vectors == 4) s1 = load(p, 1), s2 = load(p, 2), s3 = load(p, 3);
    }
    for (int64_t kd = 0; kd < planes; ++kd) {
      for (int64_t kh = 0; kh < rows; ++kh) {
        const T* p = x + kd * plane_step + kh * row_step + c;
        for (int64_t kw = 0; kw < columns; ++kw, p += column_step) {
          s0 = Join<max>(s0, load(p, 0));
          if constexpr (vectors == 4) {
            s1 = Join<max>(s1, load(p, 1));
            s2 = Join<max>(s2, load(p, 2));
            s3 = Join<max>(s3, load(p, 3));
          }
        }
      }
    }
    Store(tag, s0, c, vectors == 1 ? last : lanes);
    if constexpr (vectors == 4) {
      Store(tag, s1, c + lanes, lanes);
      Store(tag, s2, c + 2 * lanes, lanes);
      Store(tag, s3, c + 3 * lanes, lanes);
    }
  }

  template <class D, class V>
  HWY_INLINE void Store(D tag, V sum, int64_t c, int64_t count) const {
    V result = hn::Mul(sum, hn::Set(tag, scale));
    if constexpr (!std::is_same_v<T, float>) {
      result = hn::Round(hn::MulAdd(result, hn::Set(tag, plan.mul), hn::Set(tag, plan.add)));
      result = hn::Min(hn::Max(result, hn::Set(tag, plan.least)), hn::Set(tag, plan.greatest));
    }
    if (count == static_cast<int64_t>(hn::Lanes(tag))) {
      StoreFloats(tag, result, y + c);
    } else {
      StoreSomeFloats(tag, result, y + c, count);
    }
  }

  template <bool max>
  HWY_INLINE void Run() const {
    const hn::ScalableTag<float> tag;
    const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
    int64_t c = 0;
    for (; c + 4 * lanes <= plan.channels; c += 4 * lanes) Channels<max, 4>(c, lanes);
    for (; c + lanes <= plan.channels; c += lanes) Channels<max, 1>(c, lanes);
    if (c == plan.channels) return;
    // The last vector overlaps the one before: it writes the same values again.
    const int64_t last = std::min(lanes, plan.channels);
    Channels<max, 1>(plan.channels - last, last);
  }
};

template <typename T>
void Row(const PoolPlan& plan, const std::byte* x, std::byte* y, int64_t row) {
  const auto [n, od, oh] = PoolRowAt(plan, row);
  const int64_t line = plan.in[2] * plan.channels, plane = plan.in[1] * line;
  const PoolTaps d(plan, 0, od), h(plan, 1, oh);
  const T* first = reinterpret_cast<const T*>(x) +
                   (n * plan.in[0] + d.first + d.begin * plan.dilation[0]) * plane +
                   (h.first + h.begin * plan.dilation[1]) * line;
  T* to = reinterpret_cast<T*>(y) + row * plan.out[2] * plan.pitch;
  Pixel<T> pixel{.plan = plan,
                 .planes = d.end - d.begin,
                 .rows = h.end - h.begin,
                 .plane_step = plan.dilation[0] * plane,
                 .row_step = plan.dilation[1] * line,
                 .column_step = plan.dilation[2] * plan.channels};
  const WholeWindows whole(plan, pixel.planes, pixel.rows);
  for (int64_t ow = 0; ow < plan.out[2]; ++ow) {
    if constexpr (std::is_same_v<T, float>) {
      if (ow == whole.begin && whole.begin < whole.end) {
        const T* from = first + (ow * plan.stride[2] - plan.pad_begin[2]) * plan.channels;
        whole.Maxima(from, pixel.row_step, to + ow * plan.pitch);
        ow = whole.end - 1;
        continue;
      }
    }
    const PoolTaps w(plan, 2, ow);
    pixel.x = first + (w.first + w.begin * plan.dilation[2]) * plan.channels;
    pixel.y = to + ow * plan.pitch;
    pixel.columns = w.end - w.begin;
    const auto counted = static_cast<float>(d.counted * h.counted * w.counted);
    pixel.scale = plan.max ? 1.0f : 1.0f / counted;
    plan.max ? pixel.template Run<true>() : pixel.template Run<false>();
  }
}

void PoolRowOnTarget(const PoolPlan& plan, const std::byte* x, std::byte* y, int64_t row) {
  switch (plan.storage) {
    case DType::kU8: return Row<uint8_t>(plan, x, y, row);
    case DType::kI8: return Row<int8_t>(plan, x, y, row);
    default: return Row<float>(plan, x, y, row);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(PoolRowOnTarget);

void PoolRow(const PoolPlan& plan, const std::byte* x, std::byte* y, int64_t row) {
  HWY_DYNAMIC_DISPATCH(PoolRowOnTarget)(plan, x, y, row);
}

}  // namespace fettle::kernels
#endif
