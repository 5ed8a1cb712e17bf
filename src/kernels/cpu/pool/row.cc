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
  const int64_t oh = row % plan.out[1], od = row / plan.out[1] % plan.out[0],
                n = row / (plan.out[1] * plan.out[0]);
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

template <bool max>
HWY_INLINE float JoinOne(float a, float b) {
  if constexpr (max) return a > b ? a : b;
  return a + b;
}

/// to = from, or to = Join(to, from), for `n` neighbours.
template <bool max, bool first, typename T>
void JoinRun(const T* from, int64_t n, float* to) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto join = [&](auto x, float* p)
                        HWY_ATTR { return first ? x : Join<max>(hn::LoadU(d, p), x); };
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(join(LoadFloats(d, from + i), to + i), d, to + i);
  for (; i < n; ++i) {
    const auto x = static_cast<float>(from[i]);
    to[i] = first ? x : JoinOne<max>(to[i], x);
  }
}

/// Every `stride`-th pixel of `from` joined to pixel after pixel of `to`.
template <bool max>
void JoinStrided(const float* from, int64_t pixels, int64_t stride, int64_t inner, float* to) {
  if (stride == 1) return JoinRun<max, false>(from, pixels * inner, to);
  if (inner == 1 && stride == 2) {
    for (int64_t i = 0; i < pixels; ++i) to[i] = JoinOne<max>(to[i], from[2 * i]);
    return;
  }
  for (int64_t i = 0; i < pixels; ++i) {
    for (int64_t c = 0; c < inner; ++c)
      to[i * inner + c] = JoinOne<max>(to[i * inner + c], from[i * stride * inner + c]);
  }
}

/// The rows of the window as one: what the width is joined over.
template <bool max, typename T>
void JoinRows(const PoolPlan& plan, const T* image, const PoolTaps& d, const PoolTaps& h,
              float* to) {
  const int64_t width = plan.in[2] * plan.channels;
  bool first = true;
  for (int64_t kd = d.begin; kd < d.end; ++kd) {
    for (int64_t kh = h.begin; kh < h.end; ++kh) {
      const int64_t row =
          (d.first + kd * plan.dilation[0]) * plan.in[1] + h.first + kh * plan.dilation[1];
      first ? JoinRun<max, true>(image + row * width, width, to)
            : JoinRun<max, false>(image + row * width, width, to);
      first = false;
    }
  }
  if (first) std::fill_n(to, width, max ? std::numeric_limits<float>::lowest() : 0.0f);
}

/// One output pixel at the border, or between: only the taps inside count.
template <bool max>
void JoinPixel(const PoolPlan& plan, const PoolTaps& w, const float* from, float rows, float* to) {
  const int64_t inner = plan.channels;
  const float scale = max ? 1.0f : 1.0f / (rows * static_cast<float>(w.counted));
  for (int64_t c = 0; c < inner; ++c) {
    float sum = max ? std::numeric_limits<float>::lowest() : 0.0f;
    for (int64_t k = w.begin; k < w.end; ++k) {
      const float x = from[(w.first + k * plan.dilation[2]) * inner + c];
      sum = max && k == w.begin ? x : JoinOne<max>(sum, x);
    }
    to[c] = sum * scale;
  }
}

/// The width of the joined row: pixels whose whole window lies inside are joined tap by tap.
template <bool max>
void JoinWidth(const PoolPlan& plan, const float* from, float rows, float* to) {
  const int64_t inner = plan.channels, stride = plan.stride[2], pad = plan.pad_begin[2];
  const int64_t reach = (plan.kernel[2] - 1) * plan.dilation[2];
  const int64_t last = plan.in[2] - 1 - reach + pad;  // input position, from which none are outside
  const int64_t begin = std::min((pad + stride - 1) / stride, plan.out[2]);
  const int64_t end = last < 0 ? begin : std::clamp(last / stride + 1, begin, plan.out[2]);
  for (int64_t ow = 0; ow < begin; ++ow)
    JoinPixel<max>(plan, PoolTaps(plan, 2, ow), from, rows, to + ow * inner);
  for (int64_t ow = end; ow < plan.out[2]; ++ow)
    JoinPixel<max>(plan, PoolTaps(plan, 2, ow), from, rows, to + ow * inner);
  if (begin == end) return;
  float* inside = to + begin * inner;
  const float* first = from + (begin * stride - pad) * inner;
  for (int64_t i = 0; i < end - begin; ++i)
    std::copy_n(first + i * stride * inner, inner, inside + i * inner);
  for (int64_t k = 1; k < plan.kernel[2]; ++k) {
    JoinStrided<max>(first + k * plan.dilation[2] * inner, end - begin, stride, inner, inside);
  }
  if constexpr (max) return;
  const float scale = 1.0f / (rows * static_cast<float>(plan.kernel[2]));
  for (int64_t i = 0; i < (end - begin) * inner; ++i) inside[i] *= scale;
}

/// Rounded integers.
template <typename T>
void StoreRow(const PoolPlan& plan, const float* from, int64_t n, T* to) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto mul = hn::Set(d, plan.mul), add = hn::Set(d, plan.add);
  for (int64_t i = 0; i < n; i += lanes) {
    const int64_t count = std::min(lanes, n - i);
    auto x = hn::Round(hn::MulAdd(LoadSomeFloats(d, from + i, count), mul, add));
    x = hn::Min(hn::Max(x, hn::Set(d, plan.least)), hn::Set(d, plan.greatest));
    if (count == lanes) {
      StoreFloats(d, x, to + i);
    } else {
      StoreSomeFloats(d, x, to + i, count);
    }
  }
}

template <bool max, typename T>
void NarrowRow(const PoolPlan& plan, const std::byte* x, std::byte* y, int64_t row,
               float* scratch) {
  const int64_t oh = row % plan.out[1], od = row / plan.out[1] % plan.out[0],
                n = row / (plan.out[1] * plan.out[0]);
  const int64_t width = plan.in[2] * plan.channels, out_width = plan.out[2] * plan.channels;
  const PoolTaps d(plan, 0, od), h(plan, 1, oh);
  const T* image = reinterpret_cast<const T*>(x) + n * plan.in[0] * plan.in[1] * width;
  T* to = reinterpret_cast<T*>(y) + row * out_width;
  JoinRows<max>(plan, image, d, h, scratch);
  float* joined = scratch + width;
  if constexpr (std::is_same_v<T, float>) joined = to;
  JoinWidth<max>(plan, scratch, static_cast<float>(d.counted * h.counted), joined);
  if constexpr (!std::is_same_v<T, float>) StoreRow(plan, joined, out_width, to);
}

template <typename T>
void NarrowRowOf(const PoolPlan& plan, const std::byte* x, std::byte* y, int64_t row,
                 float* scratch) {
  plan.max ? NarrowRow<true, T>(plan, x, y, row, scratch)
           : NarrowRow<false, T>(plan, x, y, row, scratch);
}

void PoolNarrowRowOnTarget(const PoolPlan& plan, const std::byte* x, std::byte* y, int64_t row,
                           float* scratch) {
  switch (plan.storage) {
    case DType::kU8: return NarrowRowOf<uint8_t>(plan, x, y, row, scratch);
    case DType::kI8: return NarrowRowOf<int8_t>(plan, x, y, row, scratch);
    default: return NarrowRowOf<float>(plan, x, y, row, scratch);
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
HWY_EXPORT(PoolNarrowRowOnTarget);

void PoolRow(const PoolPlan& plan, const std::byte* x, std::byte* y, int64_t row) {
  HWY_DYNAMIC_DISPATCH(PoolRowOnTarget)(plan, x, y, row);
}

void PoolNarrowRow(const PoolPlan& plan, const std::byte* x, std::byte* y, int64_t row,
                   float* scratch) {
  HWY_DYNAMIC_DISPATCH(PoolNarrowRowOnTarget)(plan, x, y, row, scratch);
}

int64_t PoolScratch(const PoolPlan& plan) {
  const int64_t joined = plan.storage == DType::kF32 ? 0 : plan.out[2] * plan.channels;
  return (plan.in[2] * plan.channels + joined + 15) / 16 * 16;
}

}  // namespace fettle::kernels
#endif
