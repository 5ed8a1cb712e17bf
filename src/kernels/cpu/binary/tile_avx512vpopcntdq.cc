// vpopcntq counts a word for each of eight outputs: a lane is an output, so that nothing is summed
// across lanes.
#include "kernels/cpu/binary/tile.h"

#if defined(__AVX512VPOPCNTDQ__)
#include <immintrin.h>
#endif

namespace fettle::kernels {

#if defined(__AVX512VPOPCNTDQ__)
namespace {

/// kWords: the words of a tap, 0 for any number.
template <int kPixels, int kWords>
inline void CountTile(const BitTileArgs& args, int64_t tile) {
  const int64_t words = kWords == 0 ? args.words : kWords;
  __m512i sums[kPixels];
#pragma GCC unroll 8
  for (__m512i& sum : sums) sum = _mm512_setzero_si512();
  const uint64_t* w = args.weights;
  for (int64_t t = 0; t < args.taps; ++t) {
    const uint64_t* const* rows = args.rows + (tile * args.taps + t) * kPixels;
    for (int64_t word = 0; word < words; ++word, w += kBitOutputs) {
      const __m512i weights = _mm512_load_si512(w);
#pragma GCC unroll 8
      for (int p = 0; p < kPixels; ++p) {
        const __m512i x = _mm512_set1_epi64(static_cast<int64_t>(rows[p][word]));
        sums[p] = _mm512_add_epi64(sums[p], _mm512_popcnt_epi64(_mm512_xor_si512(x, weights)));
      }
    }
  }
#pragma GCC unroll 8
  for (int p = 0; p < kPixels; ++p) {
    _mm256_store_si256(reinterpret_cast<__m256i*>(args.sums + (tile * kPixels + p) * kBitOutputs),
                       _mm512_maskz_cvtepi64_epi32(0xff, sums[p]));
  }
}

template <int kPixels, int kWords>
void CountWords(const BitTileArgs& args) {
  for (int64_t tile = 0; tile < args.tiles; ++tile) CountTile<kPixels, kWords>(args, tile);
}

template <int kPixels>
void Count(const BitTileArgs& args) {
  switch (args.words) {
    case 1: return CountWords<kPixels, 1>(args);
    case 2: return CountWords<kPixels, 2>(args);
    case 4: return CountWords<kPixels, 4>(args);
    default: return CountWords<kPixels, 0>(args);
  }
}

}  // namespace

BitTile BitTileAvx512Vpopcntdq() { return {kMaxBitPixels, Count<kMaxBitPixels>, Count<1>}; }
#else
BitTile BitTileAvx512Vpopcntdq() { return {}; }
#endif

}  // namespace fettle::kernels
