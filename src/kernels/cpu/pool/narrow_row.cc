// compiled: by hand
#include <algorithm>
#include <limits>
#include <type_traits>

#include "kernels/cpu/pool/row.h"

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

/// to = all rows joined, and to as well unless `first`, for `n` neighbours.
template <bool max, typename T>
void JoinAll(const T* const* rows, int64_t count, int64_t n, bool first, float* to) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto join = [&](int64_t i) HWY_ATTR {
    auto joined = LoadFloats(d, rows[0] + i);
    for (int64_t r = 1; r < count; ++r) joined = Join<max>(joined, LoadFloats(d, rows[r] + i));
    hn::StoreU(first ? joined : Join<max>(hn::LoadU(d, to + i), joined), d, to + i);
  };
  int64_t i = 0;
  if (std::is_same_v<T, float> && first && count == 3) {
    const T *a = rows[0], *b = rows[1], *c = rows[2];
    for (; i + lanes <= n; i += lanes) {
      const auto two = Join<max>(LoadFloats(d, a + i), LoadFloats(d, b + i));
      hn::StoreU(Join<max>(two, LoadFloats(d, c + i)), d, to + i);
    }
  }
  for (; i + lanes <= n; i += lanes) join(i);
  // May be joined twice.
  if ((max || first) && i < n && n >= lanes) return join(n - lanes);
  for (; i < n; ++i) {
    auto joined = static_cast<float>(rows[0][i]);
    for (int64_t r = 1; r < count; ++r)
      joined = JoinOne<max>(joined, static_cast<float>(rows[r][i]));
    to[i] = first ? joined : JoinOne<max>(to[i], joined);
  }
}

/// The rows of the window as one: what the width is joined over.
template <bool max, typename T>
void JoinRows(const PoolPlan& plan, const T* image, const PoolTaps& d, const PoolTaps& h,
              float* to) {
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
  for (int64_t kd = d.begin; kd < d.end; ++kd) {
    for (int64_t kh = h.begin; kh < h.end; ++kh) {
      const int64_t row =
          (d.first + kd * plan.dilation[0]) * plan.in[1] + h.first + kh * plan.dilation[1];
      rows[count++] = image + row * width;
      if (count == kMost) join();
    }
  }
  join();
  if (first) std::fill_n(to, width, max ? std::numeric_limits<float>::lowest() : 0.0f);
}

/// Taps of neighbouring windows, `step` elements apart: those of neighbours are neighbours.
template <bool max>
void JoinNeighbours(const float* from, int64_t n, int64_t taps, int64_t step, float scale,
                    float* to) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto join = [&](int64_t i) HWY_ATTR {
    auto joined = hn::LoadU(d, from + i);
    for (int64_t k = 1; k < taps; ++k)
      joined = Join<max>(joined, hn::LoadU(d, from + i + k * step));
    hn::StoreU(max ? joined : hn::Mul(joined, hn::Set(d, scale)), d, to + i);
  };
  int64_t i = 0;
  if (taps == 3) {
    const auto factor = hn::Set(d, scale);
    for (; i + lanes <= n; i += lanes) {
      const float* x = from + i;
      const auto two = Join<max>(hn::LoadU(d, x), hn::LoadU(d, x + step));
      const auto joined = Join<max>(two, hn::LoadU(d, x + 2 * step));
      hn::StoreU(max ? joined : hn::Mul(joined, factor), d, to + i);
    }
  }
  for (; i + lanes <= n; i += lanes) join(i);
  if (i < n && n >= lanes) return join(n - lanes);
  for (; i < n; ++i) {
    float joined = from[i];
    for (int64_t k = 1; k < taps; ++k) joined = JoinOne<max>(joined, from[i + k * step]);
    to[i] = max ? joined : joined * scale;
  }
}

/// The same of windows that lie two elements apart, of taps side by side. Returns how many of the
/// `n` windows it joined: some of the last are left.
template <bool max>
int64_t JoinPairs(const float* from, int64_t n, int64_t taps, float scale, float* to) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  // An odd tap is read with the one behind it.
  for (; i + lanes + taps % 2 <= n; i += lanes) {
    hn::Vec<decltype(d)> joined, even, odd;
    hn::LoadInterleaved2(d, from + 2 * i, joined, odd);
    if (taps > 1) joined = Join<max>(joined, odd);
    for (int64_t k = 2; k < taps; k += 2) {
      hn::LoadInterleaved2(d, from + 2 * i + k, even, odd);
      joined = Join<max>(joined, even);
      if (k + 1 < taps) joined = Join<max>(joined, odd);
    }
    hn::StoreU(max ? joined : hn::Mul(joined, hn::Set(d, scale)), d, to + i);
  }
  return i;
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

/// The pixels of a row of outputs whose whole window lies inside its width.
struct InsideWidth {
  int64_t begin, end;

  InsideWidth(int64_t begin, int64_t end) : begin(begin), end(end) {}
  HWY_NOINLINE explicit InsideWidth(const PoolPlan& plan) {
    const int64_t stride = plan.stride[2], pad = plan.pad_begin[2];
    const int64_t reach = (plan.kernel[2] - 1) * plan.dilation[2];
    const int64_t last = plan.in[2] - 1 - reach + pad;  // from which none are outside
    begin = std::min((pad + stride - 1) / stride, plan.out[2]);
    end = last < 0 ? begin : std::clamp(last / stride + 1, begin, plan.out[2]);
  }
};

/// What rows of a maximum have before and behind them so that all windows, one beside the other,
/// lie inside: elements that lose against every other. Nothing in the way of other poolings.
struct WidthPads {
  int64_t before = 0, behind = 0;

  HWY_NOINLINE explicit WidthPads(const PoolPlan& plan) {
    const int64_t pad = plan.pad_begin[2], kernel = plan.kernel[2], last = plan.out[2] - 1 - pad;
    if (!plan.max || plan.stride[2] != 1 || plan.dilation[2] != 1 || pad >= kernel ||
        last >= plan.in[2])
      return;
    before = pad * plan.channels;
    behind = std::max<int64_t>(0, last + kernel - plan.in[2]) * plan.channels;
  }
  bool any() const { return before + behind > 0; }
  HWY_NOINLINE void Fill(float* row, int64_t width) const {
    std::fill_n(row, before, -std::numeric_limits<float>::infinity());
    std::fill_n(row + before + width, behind, -std::numeric_limits<float>::infinity());
  }
};

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
  int64_t i = 0;
  if (stride == 2 && step == 1) i = JoinPairs<max>(first, n, taps, scale, inside);
  for (; i < n; ++i)
    JoinNeighbours<max>(first + i * stride * inner, inner, taps, step, scale, inside + i * inner);
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
void NarrowRows(const PoolPlan& plan, const std::byte* x, std::byte* y, int64_t first, int64_t rows,
                float* scratch) {
  const int64_t width = plan.in[2] * plan.channels, out_width = plan.out[2] * plan.channels;
  const WidthPads pads(plan);
  const int64_t pitch = pads.before + width + pads.behind;
  float counted[kNarrowRows];
  for (int64_t k = 0; k < rows; ++k) {
    const PoolRowAt at(plan, first + k);
    const PoolTaps d(plan, 0, at.depth), h(plan, 1, at.height);
    const T* image = reinterpret_cast<const T*>(x) + at.image * plan.in[0] * plan.in[1] * width;
    if (max) pads.Fill(scratch + k * pitch, width);
    JoinRows<max>(plan, image, d, h, scratch + k * pitch + pads.before);
    counted[k] = static_cast<float>(d.counted * h.counted);
  }
  InsideWidth inside(plan);
  if (pads.any()) inside = {0, plan.out[2]};
  T* to = reinterpret_cast<T*>(y) + first * out_width;
  if constexpr (std::is_same_v<T, float>)
    JoinBorders<max>(plan, inside, scratch, pitch, counted, rows, to);
  for (int64_t k = 0; k < rows; ++k, to += out_width) {
    const float* from = scratch + k * pitch + pads.before;
    if constexpr (std::is_same_v<T, float>) {
      JoinInside<max>(plan, inside, from, counted[k], to);
    } else {
      float* joined = scratch + rows * pitch;
      JoinBorders<max>(plan, inside, from, pitch, counted + k, 1, joined);
      JoinInside<max>(plan, inside, from, counted[k], joined);
      StoreRow(plan, joined, out_width, to);
    }
  }
}

template <typename T>
void NarrowRowsOf(const PoolPlan& plan, const std::byte* x, std::byte* y, int64_t row, int64_t rows,
                  float* scratch) {
  plan.max ? NarrowRows<true, T>(plan, x, y, row, rows, scratch)
           : NarrowRows<false, T>(plan, x, y, row, rows, scratch);
}

}  // namespace

void PoolNarrowRowsOnTarget(const PoolPlan& plan, const std::byte* x, std::byte* y, int64_t row,
                            int64_t rows, float* scratch) {
  switch (plan.storage) {
    case DType::kU8: return NarrowRowsOf<uint8_t>(plan, x, y, row, rows, scratch);
    case DType::kI8: return NarrowRowsOf<int8_t>(plan, x, y, row, rows, scratch);
    default: return NarrowRowsOf<float>(plan, x, y, row, rows, scratch);
  }
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
  return (rows * width + joined + 15) / 16 * 16;
}

}  // namespace fettle::kernels
#endif
