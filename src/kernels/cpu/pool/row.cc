#include "kernels/cpu/pool/row.h"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/pool/row.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

#include "kernels/cpu/simd/load-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {

/// The taps of one axis that fall inside the input, and how many an average counts.
struct Taps {
  int64_t begin, end, first, counted;  // `first`: input position of tap 0

  Taps(const PoolPlan& plan, size_t axis, int64_t position) {
    const int64_t dilation = plan.dilation[axis], kernel = plan.kernel[axis];
    first = position * plan.stride[axis] - plan.pad_begin[axis];
    const auto below = [&](int64_t limit) {  // taps at positions before `limit`
      const int64_t room = limit - first;
      return room <= 0 ? 0 : std::min(kernel, (room + dilation - 1) / dilation);
    };
    begin = below(0);
    end = std::max(begin, below(plan.in[axis]));
    counted = plan.count_include_pad ? below(plan.in[axis] + plan.pad_end[axis]) : end - begin;
  }
};

template <bool max, class V>
HWY_INLINE V Join(V a, V b) {
  if constexpr (max) return hn::Max(a, b);
  return hn::Add(a, b);
}

/// Everything about one output pixel.
template <typename T>
struct Pixel {
  const PoolPlan& plan;
  const T* x;  // of the image
  T* y;        // of the pixel
  const Taps &d, &h, &w;

  HWY_INLINE const T* At(int64_t kd, int64_t kh) const {
    return x + (((d.first + kd * plan.dilation[0]) * plan.in[1] + h.first + kh * plan.dilation[1]) *
                    plan.in[2] +
                w.first + w.begin * plan.dilation[2]) *
                   plan.channels;
  }

  /// `vectors` vectors of channels from `c` on; `last` lanes of the last one.
  template <bool max, int vectors>
  HWY_INLINE void Channels(int64_t c, int64_t last, float scale) const {
    const hn::ScalableTag<float> tag;
    using V = hn::Vec<decltype(tag)>;
    const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
    const auto load = [&](const T* p, int i) HWY_ATTR -> V {
      return vectors == 1 && last < lanes ? LoadSomeFloats(tag, p, last)
                                          : LoadFloats(tag, p + i * lanes);
    };
    const float start = max ? std::numeric_limits<float>::lowest() : 0.0f;
    V s0 = hn::Set(tag, start), s1 = s0, s2 = s0, s3 = s0;
    bool first = max;
    const int64_t step = plan.dilation[2] * plan.channels;
    for (int64_t kd = d.begin; kd < d.end; ++kd) {
      for (int64_t kh = h.begin; kh < h.end; ++kh) {
        const T* p = At(kd, kh) + c;
        for (int64_t kw = w.begin; kw < w.end; ++kw, p += step) {
          if (first) {  // a maximum starts from an element, which may be -infinity
            s0 = load(p, 0);
            if constexpr (vectors == 4) s1 = load(p, 1), s2 = load(p, 2), s3 = load(p, 3);
            first = false;
            continue;
          }
          s0 = Join<max>(s0, load(p, 0));
          if constexpr (vectors == 4) {
            s1 = Join<max>(s1, load(p, 1));
            s2 = Join<max>(s2, load(p, 2));
            s3 = Join<max>(s3, load(p, 3));
          }
        }
      }
    }
    Store(tag, s0, c, vectors == 1 ? last : lanes, scale);
    if constexpr (vectors == 4) {
      Store(tag, s1, c + lanes, lanes, scale);
      Store(tag, s2, c + 2 * lanes, lanes, scale);
      Store(tag, s3, c + 3 * lanes, lanes, scale);
    }
  }

  template <class D, class V>
  HWY_INLINE void Store(D tag, V sum, int64_t c, int64_t count, float scale) const {
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
    const auto counted = static_cast<float>(d.counted * h.counted * w.counted);
    const float scale = max ? 1.0f : 1.0f / counted;
    int64_t c = 0;
    for (; c + 4 * lanes <= plan.channels; c += 4 * lanes) Channels<max, 4>(c, lanes, scale);
    for (; c < plan.channels; c += lanes) {
      Channels<max, 1>(c, std::min(lanes, plan.channels - c), scale);
    }
  }
};

template <typename T>
void Row(const PoolPlan& plan, const std::byte* x, std::byte* y, int64_t row) {
  const int64_t oh = row % plan.out[1], od = row / plan.out[1] % plan.out[0],
                n = row / (plan.out[1] * plan.out[0]);
  const int64_t image = plan.in[0] * plan.in[1] * plan.in[2] * plan.channels;
  const Taps d(plan, 0, od), h(plan, 1, oh);
  for (int64_t ow = 0; ow < plan.out[2]; ++ow) {
    const Taps w(plan, 2, ow);
    const Pixel<T> pixel{plan,
                         reinterpret_cast<const T*>(x) + n * image,
                         reinterpret_cast<T*>(y) + (row * plan.out[2] + ow) * plan.channels,
                         d,
                         h,
                         w};
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
