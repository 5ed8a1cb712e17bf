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

#include "kernels/cpu/pool/join_rows-inl.h"
#include "kernels/cpu/simd/load-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {
namespace {

template <bool max>
HWY_INLINE float JoinOne(float a, float b) {
  if constexpr (max) return a > b ? a : b;
  return a + b;
}

/// Rows of joined elements whose windows become rows of outputs: means are those times the scale
/// of a row, and that of the column where columns differ.
struct JoinedRows {
  const float* from;
  int64_t pitch;  // elements from one to the next
  const float *scales, *column_scales;
  int64_t count;
  float* to;
  int64_t to_pitch;
};

/// Writes `n` outputs of each row: vectors of what `joined(row + step * i)` gives, of which the
/// last overlaps the one before.
template <bool max, class Joined>
HWY_INLINE void StoreWindows(const JoinedRows& rows, int64_t n, int64_t step,
                             const Joined& joined) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t k = 0; k < rows.count; ++k) {
    const float* from = rows.from + k * rows.pitch;
    float* to = rows.to + k * rows.to_pitch;
    const auto factor = hn::Set(d, rows.scales[k]);
    const auto at = [&](int64_t i) HWY_ATTR {
      if constexpr (max) return joined(from + step * i);
      const auto sums = joined(from + step * i);
      if (rows.column_scales == nullptr) return hn::Mul(sums, factor);
      return hn::Mul(sums, hn::Mul(hn::LoadU(d, rows.column_scales + i), factor));
    };
    for (int64_t i = 0; i < n; i += lanes) {
      i = std::max<int64_t>(0, std::min(i, n - lanes));
      const auto value = at(i);
      n < lanes ? StoreSomeFloats(d, value, to, n) : hn::StoreU(value, d, to + i);
    }
  }
}

/// Taps of neighbouring windows, `step` elements apart: those of neighbours are neighbours. Reads
/// up to a vector behind the last tap.
template <bool max>
void JoinNeighbours(const JoinedRows& rows, int64_t n, int64_t taps, int64_t step) {
  const hn::ScalableTag<float> d;
  if (taps == 3)
    return StoreWindows<max>(rows, n, 1, [&](const float* x) HWY_ATTR {
      const auto two = Join<max>(hn::LoadU(d, x), hn::LoadU(d, x + step));
      return Join<max>(two, hn::LoadU(d, x + 2 * step));
    });
  StoreWindows<max>(rows, n, 1, [&](const float* x) HWY_ATTR {
    auto joined = hn::LoadU(d, x);
    for (int64_t k = 1; k < taps; ++k) joined = Join<max>(joined, hn::LoadU(d, x + k * step));
    return joined;
  });
}

/// The same of windows that lie kStride elements apart, two or three, of taps side by side. Reads
/// up to as many vectors behind the last tap.
template <bool max, int kStride>
void JoinStrided(const JoinedRows& rows, int64_t n, int64_t taps) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  StoreWindows<max>(rows, n, kStride, [&](const float* x) HWY_ATTR {
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
void JoinApart(const PoolPlan& plan, const JoinedRows& rows, int64_t n) {
  const int64_t channels = plan.channels, step = plan.dilation[2] * channels;
  for (int64_t row = 0; row < rows.count; ++row) {
    const float* from = rows.from + row * rows.pitch;
    float* to = rows.to + row * rows.to_pitch;
    for (int64_t i = 0; i < n; ++i, from += plan.stride[2] * channels, to += channels) {
      const float* columns = rows.column_scales;
      const float scale = rows.scales[row] * (columns == nullptr ? 1.0f : columns[i * channels]);
      for (int64_t c = 0; c < channels; ++c) {
        float joined = from[c];
        for (int64_t k = 1; k < plan.kernel[2]; ++k)
          joined = JoinOne<max>(joined, from[k * step + c]);
        to[c] = max ? joined : joined * scale;
      }
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

/// The pixels inside of `rows`, from their first elements to the first outputs, tap by tap.
template <bool max>
void JoinInside(const PoolPlan& plan, const InsideWidth& at, JoinedRows rows) {
  if (at.begin == at.end) return;
  const int64_t inner = plan.channels, stride = plan.stride[2];
  rows.to += at.begin * inner;
  rows.from += (at.begin * stride - plan.pad_begin[2]) * inner;
  const int64_t taps = plan.kernel[2], step = plan.dilation[2] * inner, n = at.end - at.begin;
  if (stride == 1) return JoinNeighbours<max>(rows, n * inner, taps, step);
  if (stride == 2 && step == 1) return JoinStrided<max, 2>(rows, n, taps);
  if (stride == 3 && step == 1) return JoinStrided<max, 3>(rows, n, taps);
  JoinApart<max>(plan, rows, n);
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

/// What a task holds: padded rows, and for averages what the elements of a row are multiplied by.
struct NarrowScratch {
  const PoolPlan& plan;
  WidthPads pads;
  int64_t width, out_width, pitch;
  float *rows, *column_scales, *joined;

  NarrowScratch(const PoolPlan& plan, int64_t count, float* scratch)
      : plan(plan),
        pads(plan),
        width(plan.in[2] * plan.channels),
        out_width(plan.out[2] * plan.channels),
        pitch(pads.before + width + pads.behind),
        rows(scratch),
        column_scales(rows + count * pitch + kJoinedSlack),
        joined(column_scales + out_width) {
    for (int64_t k = 0; k < count; ++k) pads.Fill(rows + k * pitch, width, plan.max);
    for (int64_t ow = 0; !plan.max && pads.any() && ow < plan.out[2]; ++ow)
      std::fill_n(column_scales + ow * plan.channels, plan.channels,
                  1.0f / static_cast<float>(PoolTaps(plan, 2, ow).counted));
  }

  /// The width's windows of `count` rows from `first` on, which JoinRows joined.
  template <bool max>
#if defined(__GNUC__) && !defined(__clang__)
  [[gnu::noclone]]
#endif
  [[gnu::noinline]] void
  JoinWidth(int64_t first, const float* counted, int64_t count, float* to) const {
    const InsideWidth inside(plan), all(0, plan.out[2]);
    const float* from = rows + first * pitch + pads.before;
    if (!pads.any()) JoinBorders<max>(plan, inside, from, pitch, counted, count, to);
    float scales[kNarrowRows];
    const float taps = pads.any() ? 1.0f : static_cast<float>(plan.kernel[2]);
    for (int64_t k = 0; k < count; ++k) scales[k] = 1.0f / (counted[k] * taps);
    JoinInside<max>(
        plan, pads.any() ? all : inside,
        {from, pitch, scales, pads.any() ? column_scales : nullptr, count, to, out_width});
  }
  void Join(int64_t first, const float* counted, int64_t count, float* to) const {
    plan.max ? JoinWidth<true>(first, counted, count, to)
             : JoinWidth<false>(first, counted, count, to);
  }
};

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

void NarrowRows(const PoolPlan& plan, const std::byte* x, std::byte* y, int64_t first, int64_t rows,
                float* scratch) {
  const NarrowScratch held(plan, std::min(rows, kNarrowRows), scratch);
  PoolRowAt at(plan, first);
  y += first * held.out_width * ByteSize(plan.storage);
  for (int64_t done = 0; done < rows; done += kNarrowRows) {
    const int64_t count = std::min(kNarrowRows, rows - done);
    float counted[kNarrowRows];
    for (int64_t k = 0; k < count; ++k, at.Next(plan)) {
      const PoolTaps d(plan, 0, at.depth), h(plan, 1, at.height);
      float* row = held.rows + k * held.pitch + held.pads.before;
      plan.max ? JoinRowsOf<true>(plan, x, at, d, h, row)
               : JoinRowsOf<false>(plan, x, at, d, h, row);
      counted[k] = static_cast<float>(d.counted * h.counted);
    }
    if (plan.storage == DType::kF32) {
      held.Join(0, counted, count, reinterpret_cast<float*>(y));
      y += count * held.out_width * 4;
      continue;
    }
    for (int64_t k = 0; k < count; ++k, y += held.out_width) {
      held.Join(k, counted + k, 1, held.joined);
      plan.storage == DType::kU8
          ? StoreRow(plan, held.joined, held.out_width, reinterpret_cast<uint8_t*>(y))
          : StoreRow(plan, held.joined, held.out_width, reinterpret_cast<int8_t*>(y));
    }
  }
}

}  // namespace

void PoolNarrowRowsOnTarget(const PoolPlan& plan, const std::byte* x, std::byte* y, int64_t row,
                            int64_t rows, float* scratch) {
  NarrowRows(plan, x, y, row, rows, scratch);
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
  // Scales of a row, of which vectors read more, and of integers a row before it is rounded.
  const int64_t outputs = plan.out[2] * plan.channels;
  const int64_t held = outputs * (plan.storage == DType::kF32 ? 1 : 2) + kJoinedSlack;
  // Twice a window around each row, for WidthPads.
  const int64_t width = (plan.in[2] + 2 * plan.kernel[2]) * plan.channels;
  return (std::min(rows, kNarrowRows) * width + kJoinedSlack + held + 15) / 16 * 16;
}

}  // namespace fettle::kernels
#endif
