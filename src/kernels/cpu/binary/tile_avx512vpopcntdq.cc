// vpopcntq counts a word for each of eight outputs, vpopcntd half a word for each of sixteen: a
// lane is an output, so that nothing is summed across lanes. Sixteen leave no conversion of sums
// behind a loop that may be as short as nine steps, and half of a word without channels is not
// read.
#include "kernels/cpu/binary/tile.h"

#if defined(__AVX512VPOPCNTDQ__)
#include <immintrin.h>

#include <algorithm>
#endif

namespace fettle::kernels {

#if defined(__AVX512VPOPCNTDQ__)
namespace {

template <int kPixels>
inline void CountTile(const BitTileArgs& args, int64_t tile) {
  const uint64_t* bases[kPixels];
  __m512i sums[kPixels];
#pragma GCC unroll 8
  for (int p = 0; p < kPixels; ++p) {
    bases[p] = args.bases[tile * kPixels + p];
    sums[p] = _mm512_setzero_si512();
  }
  const uint64_t* w = args.weights;
  for (const int64_t *step = args.steps, *end = step + args.count; step != end;
       ++step, w += kBitOutputs) {
    const __m512i weights = _mm512_load_si512(w);
    const int64_t at = *step;
#pragma GCC unroll 8
    for (int p = 0; p < kPixels; ++p) {
      const __m512i x = _mm512_set1_epi64(static_cast<int64_t>(bases[p][at]));
      sums[p] = _mm512_add_epi64(sums[p], _mm512_popcnt_epi64(_mm512_xor_si512(x, weights)));
    }
  }
#pragma GCC unroll 8
  for (int p = 0; p < kPixels; ++p) {
    _mm256_store_si256(reinterpret_cast<__m256i*>(args.sums + (tile * kPixels + p) * args.stride),
                       _mm512_maskz_cvtepi64_epi32(0xff, sums[p]));
  }
}

template <int kPixels>
void Count(const BitTileArgs& args) {
  for (int64_t tile = 0; tile < args.tiles; ++tile) CountTile<kPixels>(args, tile);
}

template <int kPixels>
[[gnu::always_inline]] inline void CountPairTile(const BitTileArgs& args, int64_t tile) {
  const uint32_t* bases[kPixels];
  __m512i sums[kPixels];
#pragma GCC unroll 8
  for (int p = 0; p < kPixels; ++p) {
    bases[p] = reinterpret_cast<const uint32_t*>(args.bases[tile * kPixels + p]);
    sums[p] = _mm512_setzero_si512();
  }
  const uint64_t* w = args.weights;
#pragma GCC unroll 2
  for (int64_t i = 0; i < args.count; ++i, w += kBitOutputs) {
    const __m512i weights = _mm512_load_si512(w);
    const int64_t at = args.steps[i];
#pragma GCC unroll 8
    for (int p = 0; p < kPixels; ++p) {
      const __m512i x = _mm512_set1_epi32(static_cast<int32_t>(bases[p][at]));
      sums[p] = _mm512_add_epi32(sums[p], _mm512_popcnt_epi32(_mm512_xor_si512(x, weights)));
    }
  }
  int32_t* to = args.sums + tile * kPixels * args.stride;
#pragma GCC unroll 8
  for (int p = 0; p < kPixels; ++p, to += args.stride) _mm512_storeu_si512(to, sums[p]);
}

/// Weights of over 1 MB lie behind the second-level cache: the first tile of a panel would wait.
void AskForNext(const BitTileArgs& args, int64_t tile, int64_t share) {
  if (args.next == nullptr) return;
  const int64_t end = std::min(args.count, (tile + 1) * share);
  for (int64_t i = tile * share; i < end; ++i)
    _mm_prefetch(reinterpret_cast<const char*>(args.next + i * kBitOutputs), _MM_HINT_T0);
}

/// Rows of many channels lie behind the second-level cache, which counting leaves alone.
template <int kPixels>
void AskForRows(const BitTileArgs& args, int64_t tile) {
  if (args.beside == nullptr) return;
  const float* row = args.beside + tile * kPixels * args.beside_stride;
  for (int p = 0; p < kPixels; ++p, row += args.beside_stride)
    _mm_prefetch(reinterpret_cast<const char*>(row), _MM_HINT_T0);
}

template <int kPixels>
void CountPair(const BitTileArgs& args) {
  const int64_t share = (args.count + args.tiles - 1) / args.tiles;
  for (int64_t tile = 0; tile < args.tiles; ++tile) {
    AskForNext(args, tile, share);
    AskForRows<kPixels>(args, tile);
    CountPairTile<kPixels>(args, tile);
  }
}

}  // namespace

BitTile BitTileAvx512Vpopcntdq() {
  return {.pixels = kMaxBitPixels,
          .counts_words = true,
          .whole = Count<kMaxBitPixels>,
          .single = Count<1>,
          .pair = CountPair<kMaxBitPixels>,
          .single_pair = CountPair<1>};
}
#else
BitTile BitTileAvx512Vpopcntdq() { return {}; }
#endif

}  // namespace fettle::kernels
