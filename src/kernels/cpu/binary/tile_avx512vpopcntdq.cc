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

/// Adds the differing bits of pixels [kBegin, kEnd) of a tile at one step: by words of 64 bits, or
/// by halves of them.
template <int kBegin, int kEnd, int kPixels, typename Word>
[[gnu::always_inline]] inline void CountStep(const int64_t* step, const uint64_t* w,
                                             const Word* const (&bases)[kPixels],
                                             __m512i (&sums)[kPixels]) {
  const __m512i weights = _mm512_load_si512(w);
  const int64_t at = *step;
#pragma GCC unroll 8
  for (int p = kBegin; p < kEnd; ++p) {
    if constexpr (sizeof(Word) == 8) {
      const __m512i x = _mm512_set1_epi64(static_cast<int64_t>(bases[p][at]));
      sums[p] = _mm512_add_epi64(sums[p], _mm512_popcnt_epi64(_mm512_xor_si512(x, weights)));
    } else {
      const __m512i x = _mm512_set1_epi32(static_cast<int32_t>(bases[p][at]));
      sums[p] = _mm512_add_epi32(sums[p], _mm512_popcnt_epi32(_mm512_xor_si512(x, weights)));
    }
  }
}

/// `count` steps from `begin` on of pixels from kBegin on.
template <int kBegin, int kPixels, typename Word>
[[gnu::always_inline]] inline void CountSteps(const BitTileArgs& args, int64_t begin, int64_t count,
                                              const Word* const (&bases)[kPixels],
                                              __m512i (&sums)[kPixels]) {
  const int64_t* steps = args.steps + begin;
  const uint64_t* w = args.weights + begin * kBitOutputs;
#pragma GCC unroll 2
  for (int64_t i = 0; i < count; ++i, w += kBitOutputs)
    CountStep<kBegin, kPixels>(steps + i, w, bases, sums);
}

/// The differing bits of a tile, whose ends leave out what they have outside of the image: of each
/// column of the filter, `count` steps from `begin` on. Where those are all of a column's, the
/// columns between the ends are one.
template <int kPixels, BitEnds kEnds, typename Word>
[[gnu::always_inline]] inline void CountTile(const BitTileArgs& args, int64_t first, int64_t begin,
                                             int64_t count, __m512i (&sums)[kPixels]) {
  const Word* bases[kPixels];
#pragma GCC unroll 8
  for (int p = 0; p < kPixels; ++p) {
    bases[p] = reinterpret_cast<const Word*>(args.bases[first + p]);
    sums[p] = _mm512_setzero_si512();
  }
  const int64_t column = args.lines * args.tap_steps;
  const int64_t last = begin + (args.columns - 1) * column;
  int64_t columns = args.columns;
  if constexpr (kEnds == kBothEnds) {
    // One loop: another one behind a short one costs as much as four steps.
    const int64_t* steps = args.steps + begin;
    const uint64_t* w = args.weights + begin * kBitOutputs;
    const int64_t between = last - begin;
    for (int64_t i = 0; i < count; ++i, ++steps, w += kBitOutputs) {
      CountStep<1, kPixels>(steps, w, bases, sums);
      CountStep<0, kPixels - 1>(steps + between, w + between * kBitOutputs, bases, sums);
    }
    begin += column;
    columns -= 2;
  } else if constexpr (kEnds == kFirstEnd) {
    CountSteps<1, kPixels>(args, begin, count, bases, sums);
    begin += column;
    --columns;
  } else if constexpr (kEnds == kLastEnd) {
    const int64_t* steps = args.steps + last;
    const uint64_t* w = args.weights + last * kBitOutputs;
#pragma GCC unroll 2
    for (int64_t i = 0; i < count; ++i, w += kBitOutputs)
      CountStep<0, kPixels - 1>(steps + i, w, bases, sums);
    --columns;
  }
  if (count == column) count *= columns, columns = std::min<int64_t>(columns, 1);
  for (int64_t i = 0; i < columns; ++i)
    CountSteps<0, kPixels>(args, begin + i * column, count, bases, sums);
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
template <int kPixels, BitEnds kEnds, typename Word>
void CountSpan(const BitTileArgs& args, const BitSpan& span, int64_t tile) {
  const int64_t share = (args.count + args.tiles - 1) / args.tiles;
  const int64_t begin = span.line * args.tap_steps, count = span.lines * args.tap_steps;
  const int64_t end = tile + span.tiles;
  for (int64_t first = span.first; tile < end; ++tile, first += kPixels) {
    AskForNext(args, tile, share);
    AskForRows<kPixels>(args, first);
    __m512i sums[kPixels];
    CountTile<kPixels, kEnds, Word>(args, first, begin, count, sums);
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

using Count = void (*)(const BitTileArgs&, const BitSpan&, int64_t);

template <typename Word, int... p>
Count CountOf(const BitSpan& span, std::integer_sequence<int, p...>) {
  static constexpr Count kCounts[][kMaxBitPixels] = {{CountSpan<p + 1, kNoEnds, Word>...},
                                                     {CountSpan<p + 1, kFirstEnd, Word>...},
                                                     {CountSpan<p + 1, kLastEnd, Word>...},
                                                     {CountSpan<p + 1, kBothEnds, Word>...}};
  return kCounts[span.ends][span.pixels - 1];
}

template <typename Word>
void CountAll(const BitTileArgs& args) {
  constexpr std::make_integer_sequence<int, kMaxBitPixels> kUpToMost;
  int64_t tile = 0;
  for (const BitSpan& span : args.spans) {
    CountOf<Word>(span, kUpToMost)(args, span, tile);
    tile += span.tiles;
  }
}

}  // namespace

BitTile BitTileAvx512Vpopcntdq() {
  return {.pixels = kMaxBitPixels,
          .counts_words = true,
          .takes_spans = true,
          .whole = CountAll<uint64_t>,
          .pair = CountAll<uint32_t>};
}
#else
BitTile BitTileAvx512Vpopcntdq() { return {}; }
#endif

}  // namespace fettle::kernels
