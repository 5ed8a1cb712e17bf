// The rows of a window joined into one.
#if defined(FETTLE_KERNELS_CPU_POOL_JOIN_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FETTLE_KERNELS_CPU_POOL_JOIN_ROWS_INL_H_
#undef FETTLE_KERNELS_CPU_POOL_JOIN_ROWS_INL_H_
#else
#define FETTLE_KERNELS_CPU_POOL_JOIN_ROWS_INL_H_
#endif

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "hwy/highway.h"
#include "kernels/cpu/pool/row.h"
#include "kernels/cpu/simd/load-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

template <bool max, class V>
HWY_INLINE V Join(V a, V b) {
  if constexpr (max) return hn::Max(a, b);
  return hn::Add(a, b);
}

/// to[0, n) = the elements of kRows rows (0: any number) of each of `planes` planes joined. Each
/// vector stays in its register meanwhile; the last one overlaps the one before.
template <bool max, int kRows, typename T>
HWY_INLINE void JoinSome(const T* from, int64_t planes, int64_t plane_step, int64_t any_rows,
                         int64_t row_step, int64_t n, float* to) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t rows = kRows == 0 ? any_rows : kRows;
  const auto join = [&](const T* x, auto load) HWY_ATTR {
    auto joined = load(x);
    for (int64_t r = 1; r < rows; ++r) joined = Join<max>(joined, load(x + r * row_step));
    for (int64_t p = 1; p < planes; ++p) {
      const T* plane = x + p * plane_step;
      for (int64_t r = 0; r < rows; ++r) joined = Join<max>(joined, load(plane + r * row_step));
    }
    return joined;
  };
  if (n < lanes) {
    const auto some = [&](const T* x) HWY_ATTR { return LoadSomeFloats(d, x, n); };
    return StoreSomeFloats(d, join(from, some), to, n);
  }
  for (int64_t i = 0; i < n; i += lanes) {
    i = std::min(i, n - lanes);
    hn::StoreU(join(from + i, [&](const T* x) HWY_ATTR { return LoadFloats(d, x); }), d, to + i);
  }
}

/// The rows of the window as one: what the width is joined over.
template <bool max, typename T>
HWY_NOINLINE void JoinRows(const PoolPlan& plan, const T* image, const PoolTaps& d,
                           const PoolTaps& h, float* to) {
  const int64_t width = plan.in[2] * plan.channels, plane = plan.in[1] * width;
  const int64_t planes = d.end - d.begin, rows = h.end - h.begin;
  if (planes <= 0 || rows <= 0) {
    std::fill_n(to, width, max ? std::numeric_limits<float>::lowest() : 0.0f);
    return;
  }
  const int64_t plane_step = plan.dilation[0] * plane, row_step = plan.dilation[1] * width;
  const T* from =
      image + d.first * plane + d.begin * plane_step + h.first * width + h.begin * row_step;
  if (std::is_same_v<T, float> && planes == 1 && rows == 1) {
    std::memcpy(to, from, width * sizeof(float));
    return;
  }
  if (std::is_same_v<T, float> && planes == 1 && rows == 3)
    return JoinSome<max, 3>(from, 1, 0, 3, row_step, width, to);
  JoinSome<max, 0>(from, planes, plane_step, rows, row_step, width, to);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#endif  // toggled per target
