// Rows rounded to bytes in blocks: compiled with the options of each file that includes it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/cpu/block_product/block_panel.h"

namespace fettle::kernels {
namespace {

/// x * y, rounded once to a whole number below 2^22, halves to even ones: what is added leaves no
/// bits for fractions.
inline int32_t RoundProduct(float x, float y) {
#if defined(__FMA__) || defined(__aarch64__)
  const float sum = __builtin_fmaf(x, y, 0x1.8p23F);
  int32_t bits;
  std::memcpy(&bits, &sum, sizeof(bits));
  return bits - 0x4b400000;
#else
  return static_cast<int32_t>(std::nearbyint(double{x} * double{y}));
#endif
}

/// As the oracle rounds (ops/quantise/ref_product.cc): the step is largest magnitude / 127, NaN for
/// blocks with NaN or infinity.
inline void RoundOneBlock(const float* a, int64_t count, int8_t* bytes, float* step, float* sum) {
  constexpr int64_t kWide = 16;
  float most_of[kWide] = {};
  bool is_finite = true;
  for (int64_t i = 0; i < count; i += kWide) {
    for (int64_t j = 0; j < kWide; ++j) {
      const float x = std::fabs(a[i + j]);
      is_finite &= x <= std::numeric_limits<float>::max();
      most_of[j] = x > most_of[j] ? x : most_of[j];
    }
  }
  float most = 0;
  for (float x : most_of) most = std::max(most, x);
  if (!is_finite || most < 0x1p-100F) {
    std::memset(bytes, 0, count);
    *step = is_finite ? 0 : std::numeric_limits<float>::quiet_NaN();
    *sum = *step;
    return;
  }
  const float inverse = 127.0F / most;
  int32_t total = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int32_t whole = RoundProduct(a[i], inverse);
    bytes[i] = static_cast<int8_t>(whole);
    total += whole;
  }
  *step = most * (1.0F / 127);
  *sum = *step * static_cast<float>(total);
}

/// A row by functions of blocks of 32 and of 16.
template <typename Long, typename Short>
inline void RoundRowBy(const BlockLayout& layout, const float* a, std::byte* row, Long round32,
                       Short round16) {
  auto* bytes = reinterpret_cast<int8_t*>(row);
  auto* steps = reinterpret_cast<float*>(row + layout.steps_at());
  const int64_t blocks = layout.blocks(), block = layout.block;
  for (int64_t b = 0; b < blocks; ++b, a += block, bytes += block, ++steps)
    block == 32 ? round32(a, bytes, steps, steps + blocks)
                : round16(a, bytes, steps, steps + blocks);
}

}  // namespace
}  // namespace fettle::kernels
