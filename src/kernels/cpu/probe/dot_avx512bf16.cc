#include "kernels/cpu/probe/dot.h"

#if defined(__AVX512BF16__)
#include <immintrin.h>

namespace fettle::kernels {

double RunDotAvx512Bf16(int64_t rounds, float* sink) {
  // As many chains as hide the latency of one.
  constexpr int kChains = 16;
  const auto factors = reinterpret_cast<__m512bh>(_mm512_set1_epi16(0x3f80));
  __m512 sums[kChains] = {};
  for (int64_t r = 0; r < rounds; ++r) {
    for (__m512& sum : sums) sum = _mm512_dpbf16_ps(sum, factors, factors);
  }
  for (int i = 1; i < kChains; ++i) sums[0] = _mm512_add_ps(sums[0], sums[i]);
  _mm512_storeu_ps(sink, sums[0]);
  return static_cast<double>(rounds) * kChains * 2 * 32;
}

}  // namespace fettle::kernels
#endif
