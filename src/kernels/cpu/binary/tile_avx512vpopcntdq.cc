// vpopcntq counts a word for each of eight outputs, vpopcntd half a word for each of sixteen: a
// lane is an output, so that nothing is summed across lanes. Sixteen leave no conversion of sums
// behind a loop that may be as short as nine steps, and half of a word without channels is not
// read.
#include "kernels/cpu/binary/tile.h"

#if defined(__AVX512VPOPCNTDQ__)
#include <immintrin.h>

#include <algorithm>
#include <utility>
#endif

namespace fettle::kernels {

#if defined(__AVX512VPOPCNTDQ__)
namespace {

/// The differing bits of a tile: by words of 64 bits, or by halves of them.
template <int kPixels, typename Word>
[[gnu::always_inline]] inline void CountTile(const BitTileArgs& args, int64_t first,
                                             const int64_t* steps, const uint64_t* w, int64_t count,
                                             __m512i (&sums)[kPixels]) {
  const Word* bases[kPixels];
#pragma GCC unroll 8
  for (int p = 0; p < kPixels; ++p) {
    bases[p] = reinterpret_cast<const Word*>(args.bases[first + p]);
    sums[p] = _mm512_setzero_si512();
  }
#pragma GCC unroll 2
  for (int64_t i = 0; i < count; ++i, w += kBitOutputs) {
    const __m512i weights = _mm512_load_si512(w);
    const int64_t at = steps[i];
#pragma GCC unroll 8
    for (int p = 0; p < kPixels; ++p) {
      if constexpr (sizeof(Word) == 8) {
        const __m512i x = _mm512_set1_epi64(static_cast<int64_t>(bases[p][at]));
        sums[p] = _mm512_add_epi64(sums[p], _mm512_popcnt_epi64(_mm512_xor_si512(x, weights)));
      } else {
        const __m512i x = _mm512_set1_epi32(static_cast<int32_t>(bases[p][at]));
        sums[p] = _mm512_add_epi32(sums[p], _mm512_popcnt_epi32(_mm512_xor_si512(x, weights)));
      }
    }
  }
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
void AskForRows(const BitTileArgs& args, int64_t first) {
  if (args.beside == nullptr) return;
  const float* row = args.beside + first * args.beside_stride;
  for (int p = 0; p < kPixels; ++p, row += args.beside_stride)
    _mm_prefetch(reinterpret_cast<const char*>(row), _MM_HINT_T0);
}

/// Counts a span, whose first tile is `tile` of all. Words: of a panel, or halves of two.
template <int kPixels, typename Word>
void CountSpan(const BitTileArgs& args, const BitSpan& span, int64_t tile) {
  const int64_t share = (args.count + args.tiles - 1) / args.tiles;
  const int64_t begin = span.tap * args.tap_steps, count = span.taps * args.tap_steps;
  const int64_t end = tile + span.tiles;
  for (int64_t first = span.first; tile < end; ++tile, first += kPixels) {
    AskForNext(args, tile, share);
    AskForRows<kPixels>(args, first);
    __m512i sums[kPixels];
    CountTile<kPixels, Word>(args, first, args.steps + begin, args.weights + begin * kBitOutputs,
                             count, sums);
    int32_t* to = args.sums + first * args.stride;
#pragma GCC unroll 8
    for (int p = 0; p < kPixels; ++p, to += args.stride) {
      if constexpr (sizeof(Word) == 8) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                            _mm512_maskz_cvtepi64_epi32(0xff, sums[p]));
      } else {
        _mm512_storeu_si512(to, sums[p]);
      }
    }
  }
}

template <typename Word, int... p>
void CountAll(const BitTileArgs& args, std::integer_sequence<int, p...>) {
  static constexpr void (*kCounts[])(const BitTileArgs&, const BitSpan&,
                                     int64_t) = {CountSpan<p + 1, Word>...};
  int64_t tile = 0;
  for (const BitSpan& span : args.spans) {
    kCounts[span.pixels - 1](args, span, tile);
    tile += span.tiles;
  }
}

using UpToMost = std::make_integer_sequence<int, kMaxBitPixels>;

}  // namespace

BitTile BitTileAvx512Vpopcntdq() {
  return {.pixels = kMaxBitPixels,
          .counts_words = true,
          .takes_spans = true,
          .whole = [](const BitTileArgs& args) { CountAll<uint64_t>(args, UpToMost()); },
          .pair = [](const BitTileArgs& args) { CountAll<uint32_t>(args, UpToMost()); }};
}
#else
BitTile BitTileAvx512Vpopcntdq() { return {}; }
#endif

}  // namespace fettle::kernels
