#include "motion/blocks.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "motion/blocks.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace fettle::enhance {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

uint32_t ErrorOfBytes(const Source<uint8_t>& a, const Source<uint8_t>& b, ptrdiff_t stride) {
  uint32_t sum = 0;
  for (int y = 0; y < kWindow; ++y)
    for (ptrdiff_t x = y * stride; x < y * stride + kWindow; ++x) {
      const int left = (a.one[x] + a.other[x] + 1) >> 1, right = (b.one[x] + b.other[x] + 1) >> 1;
      sum += static_cast<uint32_t>(left < right ? right - left : left - right);
    }
  return sum;
}

#else

uint32_t ErrorOfBytes(const Source<uint8_t>& a, const Source<uint8_t>& b, ptrdiff_t stride) {
  const hn::CappedTag<uint8_t, kWindow> d;
  const hn::Repartition<uint64_t, decltype(d)> sums;
  auto total = hn::Zero(sums);
  for (int y = 0; y < kWindow; ++y) {
    const ptrdiff_t at = y * stride;
    const auto left = hn::AverageRound(hn::LoadU(d, a.one + at), hn::LoadU(d, a.other + at));
    const auto right = hn::AverageRound(hn::LoadU(d, b.one + at), hn::LoadU(d, b.other + at));
    const auto difference = hn::Or(hn::SaturatedSub(left, right), hn::SaturatedSub(right, left));
    total = hn::Add(total, hn::SumsOf8(difference));
  }
  return static_cast<uint32_t>(hn::GetLane(hn::SumOfLanes(sums, total)));
}

#endif

// What follows is left to the compiler, which has this instruction set, too.

template <typename Sample>
HWY_INLINE void Blend(const Source<Sample>& a, const Source<Sample>& b, ptrdiff_t stride,
                      const Blending& how, float* HWY_RESTRICT sums, float* HWY_RESTRICT totals,
                      ptrdiff_t row) {
  const auto scale = static_cast<float>(how.scale);
  for (int y = 0; y < kWindow; ++y) {
    const Sample *a0 = a.one + y * stride, *a1 = a.other + y * stride;
    const Sample *b0 = b.one + y * stride, *b1 = b.other + y * stride;
    const uint8_t* weights = how.weights + y * kWindow;
    float *sum = sums + y * row, *total = totals + y * row;
    for (int x = 0; x < kWindow; ++x) {
      const auto left = static_cast<float>((a0[x] + a1[x] + 1) >> 1);
      const auto right = static_cast<float>((b0[x] + b1[x] + 1) >> 1);
      const float weight = scale * static_cast<float>(weights[x]);
      sum[x] += weight * (left + right);
      total[x] += weight;
    }
  }
}

void BlendBytes(const Source<uint8_t>& a, const Source<uint8_t>& b, ptrdiff_t stride,
                const Blending& how, float* sums, float* totals, ptrdiff_t row) {
  Blend(a, b, stride, how, sums, totals, row);
}
void BlendWords(const Source<uint16_t>& a, const Source<uint16_t>& b, ptrdiff_t stride,
                const Blending& how, float* sums, float* totals, ptrdiff_t row) {
  Blend(a, b, stride, how, sums, totals, row);
}

template <typename Sample>
HWY_INLINE void Half(const Sample* HWY_RESTRICT from, ptrdiff_t step, int count, int most,
                     Sample* HWY_RESTRICT to) {
  for (int x = 0; x < count; ++x) {
    const Sample* at = from + x;
    const int sum = at[-2 * step] - 5 * at[-step] + 20 * at[0] + 20 * at[step] - 5 * at[2 * step] +
                    at[3 * step];
    const int value = (sum + 16) >> 5;
    to[x] = static_cast<Sample>(value < 0 ? 0 : value > most ? most : value);
  }
}
void HalfBytes(const uint8_t* from, ptrdiff_t step, int count, int most, uint8_t* to) {
  Half(from, step, count, most, to);
}
void HalfWords(const uint16_t* from, ptrdiff_t step, int count, int most, uint16_t* to) {
  Half(from, step, count, most, to);
}

void HalveBytes(const uint8_t* HWY_RESTRICT upper, const uint8_t* HWY_RESTRICT lower, int count,
                uint8_t* HWY_RESTRICT to) {
  for (int x = 0; x < count; ++x)
    to[x] = static_cast<uint8_t>(
        (upper[2 * x] + upper[2 * x + 1] + lower[2 * x] + lower[2 * x + 1] + 2) >> 2);
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::enhance
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::enhance {

HWY_EXPORT(ErrorOfBytes);
HWY_EXPORT(BlendBytes);
HWY_EXPORT(BlendWords);
HWY_EXPORT(HalfBytes);
HWY_EXPORT(HalfWords);
HWY_EXPORT(HalveBytes);

uint32_t WindowError(const Source<uint8_t>& a, const Source<uint8_t>& b, ptrdiff_t stride) {
  return HWY_DYNAMIC_DISPATCH(ErrorOfBytes)(a, b, stride);
}
void BlendWindow(const Source<uint8_t>& a, const Source<uint8_t>& b, ptrdiff_t stride,
                 const Blending& how, float* sums, float* totals, ptrdiff_t row) {
  HWY_DYNAMIC_DISPATCH(BlendBytes)(a, b, stride, how, sums, totals, row);
}
void BlendWindow(const Source<uint16_t>& a, const Source<uint16_t>& b, ptrdiff_t stride,
                 const Blending& how, float* sums, float* totals, ptrdiff_t row) {
  HWY_DYNAMIC_DISPATCH(BlendWords)(a, b, stride, how, sums, totals, row);
}
void HalfRow(const uint8_t* from, ptrdiff_t step, int count, int most, uint8_t* to) {
  HWY_DYNAMIC_DISPATCH(HalfBytes)(from, step, count, most, to);
}
void HalfRow(const uint16_t* from, ptrdiff_t step, int count, int most, uint16_t* to) {
  HWY_DYNAMIC_DISPATCH(HalfWords)(from, step, count, most, to);
}
void HalveRow(const uint8_t* upper, const uint8_t* lower, int count, uint8_t* to) {
  HWY_DYNAMIC_DISPATCH(HalveBytes)(upper, lower, count, to);
}

}  // namespace fettle::enhance
#endif
