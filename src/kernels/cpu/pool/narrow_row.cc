// compiled: by hand
#include <algorithm>
#include <limits>
#include <type_traits>

#include "kernels/cpu/pool/row.h"
#include "kernels/cpu/pool/width.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/pool/narrow_row.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

#include "kernels/cpu/simd/load-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {
namespace {

template <bool max, class V>
HWY_INLINE V Join(V a, V b) {
  if constexpr (max) return hn::Max(a, b);
  return hn::Add(a, b);
}

template <bool max>
HWY_INLINE float JoinOne(float a, float b) {
  if constexpr (max) return a > b ? a : b;
  return a + b;
}

/// to = kRows rows joined, and to as well unless `first`, for `n` neighbours; what follows in `to`,
/// up to a vector, is overwritten.
template <bool max, int kRows, typename T>
void JoinSome(const T* const* rows, int64_t n, bool first, float* to) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const T *a = rows[0], *b = rows[kRows > 1 ? 1 : 0], *c = rows[kRows > 2 ? 2 : 0];
  const auto join = [&](int64_t i, auto load) HWY_ATTR {
    auto joined = load(a + i);
    if constexpr (kRows > 1) joined = Join<max>(joined, load(b + i));
    if constexpr (kRows > 2) joined = Join<max>(joined, load(c + i));
    hn::StoreU(first ? joined : Join<max>(hn::LoadU(d, to + i), joined), d, to + i);
  };
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) join(i, [&](const T* x) HWY_ATTR { return LoadFloats(d, x); });
  if (i < n) join(i, [&](const T* x) HWY_ATTR { return LoadSomeFloats(d, x, n - i); });
}

template <bool max, typename T>
void JoinAll(const T* const* rows, int64_t count, int64_t n, bool first, float* to) {
  for (int64_t r = 0; r < count; first = false) {
    const int64_t left = count - r;
    // One row at a time of integers, whose code is long and whose conversions take most.
    if (left == 1 || !std::is_same_v<T, float>) {
      JoinSome<max, 1>(rows + r++, n, first, to);
      continue;
    }
    if constexpr (std::is_same_v<T, float>) {
      // Four are two and two.
      const bool three = left != 2 && left != 4;
      three ? JoinSome<max, 3>(rows + r, n, first, to) : JoinSome<max, 2>(rows + r, n, first, to);
      r += three ? 3 : 2;
    }
  }
}

/// The rows of the window as one: what the width is joined over.
template <bool max, typename T>
HWY_NOINLINE void JoinRows(const PoolPlan& plan, const T* image, const PoolTaps& d,
                           const PoolTaps& h, float* to) {
  constexpr int64_t kMost = 32;
  const T* rows[kMost];
  const int64_t width = plan.in[2] * plan.channels;
  int64_t count = 0;
  bool first = true;
  const auto join = [&]() HWY_ATTR {
    if (count == 0) return;
    JoinAll<max>(rows, count, width, first, to);
    first = false;
    count = 0;
  };
  const int64_t step = plan.dilation[1] * width;
  for (int64_t kd = d.begin; kd < d.end; ++kd) {
    const int64_t depth = d.first + kd * plan.dilation[0];
    const T* row = image + (depth * plan.in[1] + h.first) * width + h.begin * step;
    for (int64_t kh = h.begin; kh < h.end; ++kh) {
      rows[count++] = row;
      row += step;
      if (count == kMost) join();
    }
  }
  join();
  if (first) std::fill_n(to, width, max ? std::numeric_limits<float>::lowest() : 0.0f);
}

/// Writes to[0, n): vectors of what `joined(i)` gives, of which the last overlaps the one before.
template <class Joined>
HWY_INLINE void StoreWindows(int64_t n, float scale, float* to, const Joined& joined) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto factor = hn::Set(d, scale);
  if (n < lanes) return StoreSomeFloats(d, hn::Mul(joined(int64_t{0}), factor), to, n);
  for (int64_t i = 0; i < n; i += lanes) {
    i = std::min(i, n - lanes);
    hn::StoreU(hn::Mul(joined(i), factor), d, to + i);
  }
}

/// Taps of neighbouring windows, `step` elements apart: those of neighbours are neighbours. Reads
/// up to a vector behind the last tap.
template <bool max>
void JoinNeighbours(const float* from, int64_t n, int64_t taps, int64_t step, float scale,
                    float* to) {
  const hn::ScalableTag<float> d;
  if (taps == 3)
    return StoreWindows(n, scale, to, [&](int64_t i) HWY_ATTR {
      const float* x = from + i;
      const auto two = Join<max>(hn::LoadU(d, x), hn::LoadU(d, x + step));
      return Join<max>(two, hn::LoadU(d, x + 2 * step));
    });
  StoreWindows(n, scale, to, [&](int64_t i) HWY_ATTR {
    auto joined = hn::LoadU(d, from + i);
    for (int64_t k = 1; k < taps; ++k)
      joined = Join<max>(joined, hn::LoadU(d, from + i + k * step));
    return joined;
  });
}

/// The same of windows that lie kStride elements apart, two or three, of taps side by side. Reads
/// up to as many vectors behind the last tap.
template <bool max, int kStride>
void JoinStrided(const float* from, int64_t n, int64_t taps, float scale, float* to) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  StoreWindows(n, scale, to, [&](int64_t i) HWY_ATTR {
    const float* x = from + kStride * i;
    V joined, first, second, third;
    const auto load = [&](int64_t k, V& to) HWY_ATTR {
      if constexpr (kStride == 2) hn::LoadInterleaved2(d, x + k, to, second);
      if constexpr (kStride == 3) hn::LoadInterleaved3(d, x + k, to, second, third);
    };
    const auto join = [&](int64_t left) HWY_ATTR {
      if (left > 1) joined = Join<max>(joined, second);
      if (kStride > 2 && left > 2) joined = Join<max>(joined, third);
    };
    load(0, joined);
    join(taps);
    for (int64_t k = kStride; k < taps; k += kStride) {
      load(k, first);
      joined = Join<max>(joined, first);
      join(taps - k);
    }
    return joined;
  });
}

/// The same of windows any number of elements apart: `n` pixels of `channels` elements.
template <bool max>
void JoinApart(const PoolPlan& plan, const float* from, int64_t n, float scale, float* to) {
  const int64_t channels = plan.channels, step = plan.dilation[2] * channels;
  for (int64_t i = 0; i < n; ++i, from += plan.stride[2] * channels, to += channels) {
    for (int64_t c = 0; c < channels; ++c) {
      float joined = from[c];
      for (int64_t k = 1; k < plan.kernel[2]; ++k)
        joined = JoinOne<max>(joined, from[k * step + c]);
      to[c] = joined * scale;
    }
  }
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

/// Averages of WidthPads' windows at the border of `count` rows: they counted the padding.
inline void ScaleBorders(const PoolPlan& plan, const InsideWidth& inside, int64_t count,
                         float* to) {
  for (int64_t ow = 0; ow < plan.out[2]; ++ow) {
    if (ow == inside.begin) ow = inside.end;
    if (ow == plan.out[2]) break;
    const PoolTaps taps(plan, 2, ow);
    const float scale = static_cast<float>(plan.kernel[2]) / static_cast<float>(taps.counted);
    for (int64_t k = 0; k < count; ++k) {
      float* pixel = to + (k * plan.out[2] + ow) * plan.channels;
      for (int64_t c = 0; c < plan.channels; ++c) pixel[c] *= scale;
    }
  }
}

/// The other pixels of `count` rows, each of `width` joined elements with its own number of rows.
template <bool max>
void JoinBorders(const PoolPlan& plan, const InsideWidth& inside, const float* from, int64_t width,
                 const float* rows, int64_t count, float* to) {
  for (int64_t ow = 0; ow < plan.out[2]; ++ow) {
    if (ow == inside.begin) ow = inside.end;
    if (ow == plan.out[2]) break;
    const PoolTaps taps(plan, 2, ow);
    for (int64_t k = 0; k < count; ++k) {
      JoinPixel<max>(plan, taps, from + k * width, rows[k],
                     to + (k * plan.out[2] + ow) * plan.channels);
    }
  }
}

/// The pixels inside, tap by tap.
template <bool max>
void JoinInside(const PoolPlan& plan, const InsideWidth& at, const float* from, float rows,
                float* to) {
  if (at.begin == at.end) return;
  const int64_t inner = plan.channels, stride = plan.stride[2];
  float* inside = to + at.begin * inner;
  const float* first = from + (at.begin * stride - plan.pad_begin[2]) * inner;
  const float scale = max ? 1.0f : 1.0f / (rows * static_cast<float>(plan.kernel[2]));
  const int64_t taps = plan.kernel[2], step = plan.dilation[2] * inner, n = at.end - at.begin;
  if (stride == 1) return JoinNeighbours<max>(first, n * inner, taps, step, scale, inside);
  if (stride == 2 && step == 1) return JoinStrided<max, 2>(first, n, taps, scale, inside);
  if (stride == 3 && step == 1) return JoinStrided<max, 3>(first, n, taps, scale, inside);
  JoinApart<max>(plan, first, n, scale, inside);
}

/// Rounded integers.
template <typename T>
HWY_NOINLINE void StoreRow(const PoolPlan& plan, const float* from, int64_t n, T* to) {
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

/// The width's windows of `count` rows that JoinRows joined.
template <bool max>
HWY_NOINLINE void JoinWidth(const PoolPlan& plan, const WidthPads& pads, const float* from,
                            int64_t pitch, const float* counted, int64_t count, float* to) {
  const InsideWidth inside(plan), all(0, plan.out[2]);
  const bool padded = pads.any();
  if (!padded) JoinBorders<max>(plan, inside, from, pitch, counted, count, to);
  for (int64_t k = 0; k < count; ++k) {
    JoinInside<max>(plan, padded ? all : inside, from + k * pitch, counted[k],
                    to + k * plan.out[2] * plan.channels);
  }
  if (padded && !max) ScaleBorders(plan, inside, count, to);
}

/// The rows of one window: of floats, or of bytes that become floats.
template <bool max>
void JoinRowsOf(const PoolPlan& plan, const std::byte* x, const PoolRowAt& at, const PoolTaps& d,
                const PoolTaps& h, float* to) {
  const int64_t image = at.image * plan.in[0] * plan.in[1] * plan.in[2] * plan.channels;
  switch (plan.storage) {
    case DType::kU8:
      return JoinRows<max>(plan, reinterpret_cast<const uint8_t*>(x) + image, d, h, to);
    case DType::kI8:
      return JoinRows<max>(plan, reinterpret_cast<const int8_t*>(x) + image, d, h, to);
    default: return JoinRows<max>(plan, reinterpret_cast<const float*>(x) + image, d, h, to);
  }
}

template <bool max>
void NarrowRows(const PoolPlan& plan, const std::byte* x, std::byte* y, int64_t first, int64_t rows,
                float* scratch) {
  const int64_t width = plan.in[2] * plan.channels, out_width = plan.out[2] * plan.channels;
  const WidthPads pads(plan);
  const int64_t pitch = pads.before + width + pads.behind;
  float counted[kNarrowRows];
  PoolRowAt at(plan, first);
  for (int64_t k = 0; k < rows; ++k, at.Next(plan)) {
    const PoolTaps d(plan, 0, at.depth), h(plan, 1, at.height);
    JoinRowsOf<max>(plan, x, at, d, h, scratch + k * pitch + pads.before);
    pads.Fill(scratch + k * pitch, width, max);  // what JoinRows overwrote, too
    counted[k] = static_cast<float>(d.counted * h.counted);
  }
  const float* from = scratch + pads.before;
  if (plan.storage == DType::kF32) {
    float* to = reinterpret_cast<float*>(y) + first * out_width;
    return JoinWidth<max>(plan, pads, from, pitch, counted, rows, to);
  }
  std::byte* to = y + first * out_width;
  float* joined = scratch + rows * pitch + kJoinedSlack;
  for (int64_t k = 0; k < rows; ++k, to += out_width) {
    JoinWidth<max>(plan, pads, from + k * pitch, pitch, counted + k, 1, joined);
    plan.storage == DType::kU8 ? StoreRow(plan, joined, out_width, reinterpret_cast<uint8_t*>(to))
                               : StoreRow(plan, joined, out_width, reinterpret_cast<int8_t*>(to));
  }
}

}  // namespace

void PoolNarrowRowsOnTarget(const PoolPlan& plan, const std::byte* x, std::byte* y, int64_t row,
                            int64_t rows, float* scratch) {
  plan.max ? NarrowRows<true>(plan, x, y, row, rows, scratch)
           : NarrowRows<false>(plan, x, y, row, rows, scratch);
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(PoolNarrowRowsOnTarget);

void PoolNarrowRows(const PoolPlan& plan, const std::byte* x, std::byte* y, int64_t row,
                    int64_t rows, float* scratch) {
  HWY_DYNAMIC_DISPATCH(PoolNarrowRowsOnTarget)(plan, x, y, row, rows, scratch);
}

int64_t PoolScratch(const PoolPlan& plan, int64_t rows) {
  const int64_t joined = plan.storage == DType::kF32 ? 0 : plan.out[2] * plan.channels;
  // Twice a window around each row, for WidthPads.
  const int64_t width = (plan.in[2] + 2 * plan.kernel[2]) * plan.channels;
  return (rows * width + kJoinedSlack + joined + 15) / 16 * 16;
}

}  // namespace fettle::kernels
#endif
