#include <algorithm>
#include <limits>

#include "kernels/cpu/reduce/arg.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/reduce/arg_columns.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

#include "kernels/cpu/simd/load-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {

/// One row: a column whose elements are neighbours.
int64_t ArgRow(const ArgRule& rule, const float* x, int64_t n, int64_t stride) {
  int64_t best = 0;
  for (int64_t r = 1; r < n; ++r) {
    const float value = x[r * stride], held = x[best * stride];
    const bool nan = value != value, held_nan = held != held;
    const bool beyond = rule.max ? value > held : value < held;
    const bool tie = rule.last && (value == held || (nan && held_nan));
    if (beyond || (nan && !held_nan) || tie) best = r;
  }
  return best;
}

/// A contiguous row whose first extreme counts: the extreme, then where it is. Falls back to the
/// plain loop where there are NaNs.
int64_t ArgContiguousRow(const ArgRule& rule, const float* x, int64_t n) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto sign = hn::Set(d, rule.max ? 1.0f : -1.0f);
  const auto least = hn::Set(d, -std::numeric_limits<float>::infinity());
  const auto load = [&](int64_t i) HWY_ATTR {
    if (i + lanes <= n) return hn::Mul(hn::LoadU(d, x + i), sign);
    const auto some = hn::FirstN(d, n - i);
    return hn::IfThenElse(some, hn::Mul(LoadSomeFloats(d, x + i, n - i), sign), least);
  };
  auto most = least, total = hn::Zero(d);
  for (int64_t i = 0; i < n; i += lanes) {
    const auto v = load(i);
    most = hn::Max(most, v);
    total = hn::Or(total, hn::IfThenElseZero(hn::IsNaN(v), hn::Set(d, 1.0f)));
  }
  if (!hn::AllTrue(d, hn::Eq(total, hn::Zero(d)))) return ArgRow(rule, x, n, 1);
  const auto extreme = hn::MaxOfLanes(d, most);
  for (int64_t i = 0; i < n; i += lanes) {
    const intptr_t lane = hn::FindFirstTrue(d, hn::Eq(load(i), extreme));
    if (lane >= 0) return i + lane;
  }
  return 0;
}

void ArgColumnsOnTarget(const ArgRule& rule, const float* x, int64_t n, int64_t stride,
                        int64_t columns, int64_t* to) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  if (columns == 1 && stride == 1 && n >= 4 && !rule.last) {
    *to = ArgContiguousRow(rule, x, n);
    return;
  }
  if (columns < lanes) {
    for (int64_t i = 0; i < columns; ++i) to[i] = ArgRow(rule, x + i, n, stride);
    return;
  }
  const auto sign = hn::Set(d, rule.max ? 1.0f : -1.0f);
  HWY_ALIGN float positions[hn::MaxLanes(d)];
  for (int64_t i = 0; i < columns; i += lanes) {
    // The last vector overlaps the one before: the same results are written twice.
    const int64_t at = std::min(i, columns - lanes);
    auto best = hn::Mul(hn::LoadU(d, x + at), sign);
    auto position = hn::Zero(d);
    for (int64_t r = 1; r < n; ++r) {
      const auto value = hn::Mul(hn::LoadU(d, x + r * stride + at), sign);
      auto better = hn::Or(hn::Lt(best, value), hn::AndNot(hn::IsNaN(best), hn::IsNaN(value)));
      if (rule.last) {
        const auto both_nan = hn::And(hn::IsNaN(best), hn::IsNaN(value));
        better = hn::Or(better, hn::Or(hn::Eq(best, value), both_nan));
      }
      best = hn::IfThenElse(better, value, best);
      position = hn::IfThenElse(better, hn::Set(d, static_cast<float>(r)), position);
    }
    hn::Store(position, d, positions);
    for (int64_t k = 0; k < lanes; ++k) to[at + k] = static_cast<int64_t>(positions[k]);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(ArgColumnsOnTarget);

void ArgColumns(const ArgRule& rule, const float* x, int64_t n, int64_t stride, int64_t columns,
                int64_t* to) {
  HWY_DYNAMIC_DISPATCH(ArgColumnsOnTarget)(rule, x, n, stride, columns, to);
}

}  // namespace fettle::kernels
#endif
