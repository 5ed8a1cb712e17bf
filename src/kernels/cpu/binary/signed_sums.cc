#include "kernels/cpu/binary/signed_sums.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/binary/signed_sums.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, 16>;

/// Whether lane l is to be taken with the other sign: bits [at, at + lanes) of a row.
HWY_INLINE auto SignsAt(Floats d, const uint8_t* row, int64_t at) {
  const uint8_t* bytes = row + at / 8;
  if constexpr (hn::MaxLanes(Floats()) >= 8) return hn::LoadMaskBits(d, bytes);
  const uint8_t some[8] = {static_cast<uint8_t>(bytes[0] >> (at % 8))};
  return hn::LoadMaskBits(d, some);
}

void SumSignedOnTarget(const float* HWY_RESTRICT x, int64_t count, const uint8_t* bits,
                       int64_t row_bytes, float* sums) {
  static_assert(kSignRows == 4);
  const Floats d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto sign = hn::SignBit(d);
  auto sum0 = hn::Zero(d), sum1 = hn::Zero(d), sum2 = hn::Zero(d), sum3 = hn::Zero(d);
  const auto add = [&](auto& sum, auto v, int64_t row, int64_t at) HWY_ATTR {
    const auto signs = SignsAt(d, bits + row * row_bytes, at);
    sum = hn::Add(sum, hn::Xor(v, hn::IfThenElseZero(signs, sign)));
  };
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto v = hn::LoadU(d, x + i);
    add(sum0, v, 0, i);
    add(sum1, v, 1, i);
    add(sum2, v, 2, i);
    add(sum3, v, 3, i);
  }
  sums[0] = hn::GetLane(hn::SumOfLanes(d, sum0));
  sums[1] = hn::GetLane(hn::SumOfLanes(d, sum1));
  sums[2] = hn::GetLane(hn::SumOfLanes(d, sum2));
  sums[3] = hn::GetLane(hn::SumOfLanes(d, sum3));
  for (; i < count; ++i) {
    for (int64_t row = 0; row < kSignRows; ++row) {
      const bool is_negative = bits[row * row_bytes + i / 8] >> (i % 8) & 1;
      sums[row] += is_negative ? -x[i] : x[i];
    }
  }
}

float SumOfOnTarget(const float* HWY_RESTRICT x, int64_t count) {
  const Floats d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto sum = hn::Zero(d);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) sum = hn::Add(sum, hn::LoadU(d, x + i));
  float total = hn::GetLane(hn::SumOfLanes(d, sum));
  for (; i < count; ++i) total += x[i];
  return total;
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(SumSignedOnTarget);
HWY_EXPORT(SumOfOnTarget);

void SumSigned(const float* x, int64_t count, const uint8_t* bits, int64_t row_bytes, float* sums) {
  HWY_DYNAMIC_DISPATCH(SumSignedOnTarget)(x, count, bits, row_bytes, sums);
}

float SumOf(const float* x, int64_t count) { return HWY_DYNAMIC_DISPATCH(SumOfOnTarget)(x, count); }

}  // namespace fettle::kernels
#endif
