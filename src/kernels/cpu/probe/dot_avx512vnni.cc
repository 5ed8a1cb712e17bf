// Ten chains of vpdpbusd.
#include "kernels/cpu/probe/dot.h"

#if defined(__AVX512VNNI__)
#include <immintrin.h>

namespace fettle::kernels {

double RunDotAvx512Vnni(int64_t rounds, int32_t* sink) {
  constexpr int kChains = 10;  // hide the latency of two pipes at up to five cycles
  __m512i sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = _mm512_set1_epi32(i);
  const __m512i a = _mm512_set1_epi8(3), b = _mm512_set1_epi8(-2);
  for (int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 10
    for (int i = 0; i < kChains; ++i) sums[i] = _mm512_dpbusd_epi32(sums[i], a, b);
  }
  __m512i total = sums[0];
  for (int i = 1; i < kChains; ++i) total = _mm512_add_epi32(total, sums[i]);
  _mm512_storeu_si512(sink, total);
  return static_cast<double>(rounds) * kChains * 64 * 2;
}

}  // namespace fettle::kernels
#endif
