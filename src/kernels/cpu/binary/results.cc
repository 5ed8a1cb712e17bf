#include "kernels/cpu/binary/results.h"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/binary/results.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {

/// Plain loops of eight, which compilers turn into the target's vectors.
template <bool is_plain>
HWY_INLINE void StoreSumsOf(const BitPixel& pixel, const FloatPanel& panel, float* y,
                            int64_t columns) {
  int32_t differ[kBitOutputs], ones[kBitOutputs];
  for (int o = 0; o < kBitOutputs; ++o) {
    differ[o] = static_cast<int32_t>(pixel.differ[o]);
    ones[o] = pixel.w_ones[o];
  }
  if (pixel.outside != nullptr) {
    for (int o = 0; o < kBitOutputs; ++o) {
      differ[o] -= pixel.outside[o];
      ones[o] -= pixel.outside[o];
    }
  }
  const double pairs = pixel.pairs, x_ones = pixel.x_ones;
  float results[kBitOutputs];
  for (int o = 0; o < kBitOutputs; ++o) {
    double sum = panel.differ[o] * differ[o] + panel.pairs[o] * pairs;
    if constexpr (!is_plain) sum += panel.x_ones[o] * x_ones + panel.w_ones[o] * ones[o];
    results[o] = static_cast<float>(sum + panel.bias[o]);
  }
  if (columns == kBitOutputs) {
    std::memcpy(y, results, sizeof results);
  } else {
    for (int64_t o = 0; o < columns; ++o) y[o] = results[o];
  }
}

void StoreSums(const BitPixel& pixel, const FloatPanel& panel, float* y, int64_t columns) {
  StoreSumsOf<false>(pixel, panel, y, columns);
}
void StorePlainSums(const BitPixel& pixel, const FloatPanel& panel, float* y, int64_t columns) {
  StoreSumsOf<true>(pixel, panel, y, columns);
}

uint8_t DecideBits(const BitPixel& pixel, const LimitPanel& panel, const LimitFactors& factors) {
  const int32_t same = factors.x_ones * pixel.x_ones + factors.pairs * pixel.pairs;
  int32_t is_one[kBitOutputs];
  for (int o = 0; o < kBitOutputs; ++o) {
    const int32_t outside = pixel.outside == nullptr ? 0 : pixel.outside[o];
    const int32_t differ = static_cast<int32_t>(pixel.differ[o]) - outside;
    const int32_t sum =
        (same + factors.differ * differ + factors.w_ones * (pixel.w_ones[o] - outside)) >>
        factors.shift;
    is_one[o] =
        static_cast<int32_t>(panel.low[o] <= sum) & static_cast<int32_t>(sum <= panel.high[o]);
  }
  uint32_t bits = 0;
  for (int o = 0; o < kBitOutputs; ++o) bits |= static_cast<uint32_t>(is_one[o]) << o;
  return static_cast<uint8_t>(bits);
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(StoreSums);
HWY_EXPORT(StorePlainSums);
HWY_EXPORT(DecideBits);

FloatResults ChooseFloatResults(bool plain) {
  if (plain) {
    return [](const BitPixel& pixel, const FloatPanel& panel, float* y, int64_t columns) {
      HWY_DYNAMIC_DISPATCH(StorePlainSums)(pixel, panel, y, columns);
    };
  }
  return [](const BitPixel& pixel, const FloatPanel& panel, float* y, int64_t columns) {
    HWY_DYNAMIC_DISPATCH(StoreSums)(pixel, panel, y, columns);
  };
}

uint8_t BitResults(const BitPixel& pixel, const LimitPanel& panel, const LimitFactors& factors) {
  return HWY_DYNAMIC_DISPATCH(DecideBits)(pixel, panel, factors);
}

}  // namespace fettle::kernels
#endif
