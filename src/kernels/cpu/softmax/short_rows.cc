// compiled: by hand
// Rows of two to four numbers, a vector of rows at a time.
#include <algorithm>
#include <limits>

#include "kernels/cpu/softmax/rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/softmax/short_rows.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

#include "kernels/cpu/simd/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using ShortTag = hn::ScalableTag<float>;
using ShortVec = hn::Vec<ShortTag>;
constexpr auto kShortLanes = static_cast<int64_t>(HWY_LANES(float));

/// Vector k holds number k of each row; those that rows of `n` numbers lack are -infinity.
HWY_INLINE void LoadRows(const float* x, int64_t n, ShortVec (&v)[kMostShortRow]) {
  const ShortTag d;
  v[2] = v[3] = hn::Set(d, -std::numeric_limits<float>::infinity());
  switch (n) {
    case 2: return hn::LoadInterleaved2(d, x, v[0], v[1]);
    case 3: return hn::LoadInterleaved3(d, x, v[0], v[1], v[2]);
    default: return hn::LoadInterleaved4(d, x, v[0], v[1], v[2], v[3]);
  }
}

HWY_INLINE void StoreRows(const ShortVec (&v)[kMostShortRow], int64_t n, float* y) {
  const ShortTag d;
  switch (n) {
    case 2: return hn::StoreInterleaved2(v[0], v[1], d, y);
    case 3: return hn::StoreInterleaved3(v[0], v[1], v[2], d, y);
    default: return hn::StoreInterleaved4(v[0], v[1], v[2], v[3], d, y);
  }
}

void SoftmaxShortRowsOnTarget(const float* x, float* y, int64_t rows, int64_t n, SoftmaxForm form) {
  const ShortTag d;
  HWY_ALIGN float some[kMostShortRow * kShortLanes] = {};
  for (int64_t r = 0; r < rows; r += kShortLanes, x += kShortLanes * n, y += kShortLanes * n) {
    const int64_t left = rows - r;
    const bool whole = left >= kShortLanes;
    if (!whole) std::copy_n(x, left * n, some);
    ShortVec v[kMostShortRow];
    LoadRows(whole ? x : some, n, v);
    const auto most = hn::Max(hn::Max(v[0], v[1]), hn::Max(v[2], v[3]));
    for (ShortVec& one : v) one = hn::Sub(one, most);
    ExpDown(d, v);
    const auto sum = hn::Add(hn::Add(v[0], v[1]), hn::Add(v[2], v[3]));
    auto factor = hn::Div(hn::Set(d, 1.0f), sum);
    if (form == SoftmaxForm::kNanToZero) {
      const auto none = hn::IsNaN(factor);
      for (ShortVec& one : v) one = hn::IfThenZeroElse(none, one);
      factor = hn::IfThenZeroElse(none, factor);
    }
    for (ShortVec& one : v) one = hn::Mul(one, factor);
    StoreRows(v, n, whole ? y : some);
    if (!whole) std::copy_n(some, left * n, y);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(SoftmaxShortRowsOnTarget);

void SoftmaxShortRows(const float* x, float* y, int64_t rows, int64_t n, SoftmaxForm form) {
  HWY_DYNAMIC_DISPATCH(SoftmaxShortRowsOnTarget)(x, y, rows, n, form);
}

}  // namespace fettle::kernels
#endif
