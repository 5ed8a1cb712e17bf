#include "kernels/cpu/softmax/byte_row.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/softmax/byte_row.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

#include "kernels/cpu/simd/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {

using F = hn::ScalableTag<float>;
using I = hn::RebindToSigned<F>;
using U = hn::Rebind<uint8_t, F>;
constexpr auto kLanes = static_cast<int64_t>(HWY_LANES(float));

HWY_INLINE hn::Vec<I> Steps(const uint8_t* x, hn::Vec<U> flip) {
  return hn::PromoteTo(I(), hn::Xor(hn::LoadU(U(), x), flip));
}

/// Vectors of a row, of which the last one ends with the row: it may repeat some elements.
template <typename Function>
HWY_INLINE void ForEachVector(int64_t n, const Function& f) {
  int64_t i = 0;
  for (; i + kLanes < n; i += kLanes) f(i);
  f(n - kLanes);
}

template <typename T>
void StoreBytes(const ByteSoftmax& types, const float* row, int64_t n, float factor, uint8_t* y) {
  const hn::Rebind<T, F> bytes;
  const float most = types.is_signed ? 127 : 255;
  const auto zero = hn::Set(I(), static_cast<int32_t>(types.y_zero));
  const auto high = hn::Set(F(), most - types.y_zero), scale = hn::Set(F(), factor);
  ForEachVector(n, [&](int64_t i) HWY_ATTR {
    const auto steps = hn::NearestInt(hn::Min(high, hn::Mul(hn::LoadU(F(), row + i), scale)));
    hn::StoreU(hn::DemoteTo(bytes, hn::Add(steps, zero)), bytes, reinterpret_cast<T*>(y) + i);
  });
}

void RowOnTarget(const ByteSoftmax& types, const uint8_t* x, int64_t n, float* row, uint8_t* y) {
  const auto flip = hn::Set(U(), types.flip);
  auto most = hn::Zero(I());
  ForEachVector(n, [&](int64_t i) HWY_ATTR { most = hn::Max(most, Steps(x + i, flip)); });
  most = hn::MaxOfLanes(I(), most);
  // Differences have no zero point.
  const auto scale = hn::Set(F(), types.x_scale);
  const auto exp = [&](int64_t i) HWY_ATTR {
    const auto e = Exp(F(), hn::Mul(hn::ConvertTo(F(), hn::Sub(Steps(x + i, flip), most)), scale));
    hn::StoreU(e, F(), row + i);
    return e;
  };
  auto sum = hn::Zero(F());
  int64_t i = 0;
  for (; i + kLanes < n; i += kLanes) sum = hn::Add(sum, exp(i));
  const auto last = exp(n - kLanes);
  const auto repeated = hn::FirstN(F(), static_cast<size_t>(i + kLanes - n));
  sum = hn::Add(sum, hn::IfThenZeroElse(repeated, last));
  const float factor = 1.0f / hn::GetLane(hn::SumOfLanes(F(), sum)) / types.y_scale;
  types.is_signed ? StoreBytes<int8_t>(types, row, n, factor, y)
                  : StoreBytes<uint8_t>(types, row, n, factor, y);
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(RowOnTarget);

void SoftmaxByteRow(const ByteSoftmax& types, const uint8_t* x, int64_t n, float* row, uint8_t* y) {
  HWY_DYNAMIC_DISPATCH(RowOnTarget)(types, x, n, row, y);
}

}  // namespace fettle::kernels
#endif
