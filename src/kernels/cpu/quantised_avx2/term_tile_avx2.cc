#include "kernels/cpu/quantised_avx2/term_tile.h"

#if defined(__AVX2__)
#include <immintrin.h>

#include <algorithm>
#include <cstring>

namespace fettle::kernels {
namespace {

using Vector = __m256i;

Vector* At(void* at) { return static_cast<Vector*>(at); }
const Vector* At(const void* at) { return static_cast<const Vector*>(at); }

/// Transposes eight vectors of dwords in place.
[[gnu::always_inline]] inline void Transpose(Vector* x) {
  Vector pairs[8], quads[8];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    pairs[2 * i] = _mm256_unpacklo_epi32(x[2 * i], x[2 * i + 1]);
    pairs[2 * i + 1] = _mm256_unpackhi_epi32(x[2 * i], x[2 * i + 1]);
  }
#pragma GCC unroll 2
  for (int half = 0; half < 2; ++half) {
    const Vector* p = pairs + 4 * half;
    quads[4 * half] = _mm256_unpacklo_epi64(p[0], p[2]);
    quads[4 * half + 1] = _mm256_unpackhi_epi64(p[0], p[2]);
    quads[4 * half + 2] = _mm256_unpacklo_epi64(p[1], p[3]);
    quads[4 * half + 3] = _mm256_unpackhi_epi64(p[1], p[3]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    x[i] = _mm256_permute2x128_si256(quads[i], quads[4 + i], 0x20);
    x[4 + i] = _mm256_permute2x128_si256(quads[i], quads[4 + i], 0x31);
  }
}

/// One tap of the eight pixels of a vector, steps `step` bytes apart.
void InterleaveTap(const uint8_t* const* from, int64_t depth, uint8_t flip, int64_t step,
                   uint8_t* out) {
  const Vector flips = _mm256_set1_epi8(static_cast<char>(flip));
  int64_t at = 0;
  for (; at + 32 <= depth; at += 32) {
    Vector x[8];
#pragma GCC unroll 8
    for (int p = 0; p < 8; ++p)
      x[p] = _mm256_xor_si256(_mm256_loadu_si256(At(from[p] + at)), flips);
    Transpose(x);
#pragma GCC unroll 8
    for (int s = 0; s < 8; ++s, out += step) _mm256_store_si256(At(out), x[s]);
  }
  for (; at < depth; at += 4, out += step) {
    alignas(32) int32_t x[8];
    for (int p = 0; p < 8; ++p) std::memcpy(x + p, from[p] + at, 4);
    _mm256_store_si256(At(out), _mm256_xor_si256(_mm256_load_si256(At(x)), flips));
  }
}

/// Where lists are read.
struct Cursor {
  const uint8_t* x;
  const int32_t* weights;
  const uint8_t* steps;
  const uint8_t* channels;
};

/// Adds `count` sums of kLength terms to those of kVectors vectors of pixels, which are
/// [channel][kTermPixels].
template <int kVectors, int kLength>
void AddSums(int count, Cursor& at, int32_t* sums) {
  const Vector ones = _mm256_set1_epi16(1);
  for (; count > 0; --count) {
    Vector sum[kVectors];
#pragma GCC unroll 8
    for (int t = 0; t < kLength; ++t) {
      const uint8_t* x = at.x + int64_t{at.steps[t]} * (kVectors * 32);
      const Vector w = _mm256_set1_epi32(at.weights[t]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const Vector products = _mm256_maddubs_epi16(_mm256_load_si256(At(x + v * 32)), w);
        sum[v] = t == 0 ? products : _mm256_add_epi16(sum[v], products);
        // Else g++ adds them up in another order, for which there are not enough registers.
        asm("" : "+x"(sum[v]));
      }
    }
    at.steps += kLength;
    at.weights += kLength;
    Vector* const to = At(sums + int64_t{*at.channels++} * kTermPixels);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      _mm256_store_si256(to + v, _mm256_add_epi32(to[v], _mm256_madd_epi16(sum[v], ones)));
  }
}

/// The lists of one block of a panel; sums are [channel][kTermPixels], and begin with `init`, or
/// with 0 where that is null.
template <int kVectors>
void RunLists(const TermLists& lists, const uint8_t* x, const int32_t* init, int32_t* sums) {
  for (int64_t n = 0; n < kTermChannels; ++n) {
    const Vector begin = _mm256_set1_epi32(init == nullptr ? 0 : init[n]);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      _mm256_store_si256(At(sums + n * kTermPixels + v * 8), begin);
  }
  Cursor at{x, lists.weights, lists.steps, lists.channels};
  const uint16_t* const counts = lists.counts;
  AddSums<kVectors, kSumLengths[0]>(counts[0], at, sums);
  AddSums<kVectors, kSumLengths[1]>(counts[1], at, sums);
  AddSums<kVectors, kSumLengths[2]>(counts[2], at, sums);
  AddSums<kVectors, kSumLengths[3]>(counts[3], at, sums);
  AddSums<kVectors, kSumLengths[4]>(counts[4], at, sums);
}

void RunLists(int vectors, const TermLists& lists, const uint8_t* x, const int32_t* init,
              int32_t* sums) {
  switch (vectors) {
    case 1: return RunLists<1>(lists, x, init, sums);
    case 2: return RunLists<2>(lists, x, init, sums);
    case 3: return RunLists<3>(lists, x, init, sums);
    default: return RunLists<4>(lists, x, init, sums);
  }
}

/// Sums that are [channel][kTermPixels] to [pixel][kTermChannels], where `adds` added to what is
/// there.
void TransposeSums(const int32_t* sums, int vectors, bool adds, int32_t* out) {
  for (int v = 0; v < vectors; ++v) {
    for (int half = 0; half < 2; ++half) {
      Vector x[8];
#pragma GCC unroll 8
      for (int n = 0; n < 8; ++n)
        x[n] = _mm256_load_si256(At(sums + (half * 8 + n) * kTermPixels + v * 8));
      Transpose(x);
#pragma GCC unroll 8
      for (int p = 0; p < 8; ++p) {
        Vector* const to = At(out + (v * 8 + p) * kTermChannels + half * 8);
        _mm256_store_si256(to, adds ? _mm256_add_epi32(*to, x[p]) : x[p]);
      }
    }
  }
}

/// Pixels whose sums are in registers while pairs are added.
constexpr int kTilePixels = 4;

/// A block of a panel by pairs of steps.
struct Pairs {
  const uint8_t* x;
  int64_t step;  // bytes from step to step of x
  const int8_t* weights;
  int64_t count;
  const int8_t* ahead;  // weights that are asked for
  int64_t ahead_step;   // bytes of them with each pair
};

/// The sums of kPixels pixels and 8 * kColumns channels.
template <int kPixels, int kColumns>
struct PixelSums {
  Vector all[kPixels][kColumns];

  /// As `init` has them for each channel, or, where that is null, `sums`.
  [[gnu::always_inline]] PixelSums(const int32_t* init, const int32_t* sums) {
#pragma GCC unroll 4
    for (int p = 0; p < kPixels; ++p) {
#pragma GCC unroll 2
      for (int c = 0; c < kColumns; ++c) {
        all[p][c] = init != nullptr ? _mm256_loadu_si256(At(init + c * 8))
                                    : _mm256_load_si256(At(sums + p * kTermChannels + c * 8));
      }
    }
  }
  [[gnu::always_inline]] void Store(int32_t* sums) const {
#pragma GCC unroll 4
    for (int p = 0; p < kPixels; ++p) {
#pragma GCC unroll 2
      for (int c = 0; c < kColumns; ++c)
        _mm256_store_si256(At(sums + p * kTermChannels + c * 8), all[p][c]);
    }
  }
  /// Adds a pair of steps, of x `step` bytes apart.
  [[gnu::always_inline]] void Add(const uint8_t* x, int64_t step, const int8_t* w) {
    const Vector ones = _mm256_set1_epi16(1);
    Vector first[kColumns], second[kColumns];
#pragma GCC unroll 2
    for (int c = 0; c < kColumns; ++c) {
      first[c] = _mm256_loadu_si256(At(w + c * 32));
      second[c] = _mm256_loadu_si256(At(w + 64 + c * 32));
    }
#pragma GCC unroll 4
    for (int p = 0; p < kPixels; ++p) {
      int32_t a, b;
      std::memcpy(&a, x + p * 4, 4);
      std::memcpy(&b, x + step + p * 4, 4);
      const Vector a_bytes = _mm256_set1_epi32(a), b_bytes = _mm256_set1_epi32(b);
#pragma GCC unroll 2
      for (int c = 0; c < kColumns; ++c) {
        const Vector sum = _mm256_add_epi16(_mm256_maddubs_epi16(a_bytes, first[c]),
                                            _mm256_maddubs_epi16(b_bytes, second[c]));
        all[p][c] = _mm256_add_epi32(all[p][c], _mm256_madd_epi16(sum, ones));
        // Else g++ adds them up in another order, for which there are not enough registers.
        asm("" : "+x"(all[p][c]));
      }
    }
  }
};

/// All pixels; there is room for whole vectors of them. The sums begin with `init` where that is
/// not null.
template <int kColumns>
void RunPairs(const Pairs& pairs, int64_t rows, const int32_t* init, int32_t* sums) {
  const int8_t* ahead = pairs.ahead;
  for (int64_t row = 0; row < rows; row += kTilePixels) {
    PixelSums<kTilePixels, kColumns> tile(init, sums + row * kTermChannels);
    const uint8_t* x = pairs.x + row * 4;
    const int8_t* w = pairs.weights;
    for (int64_t pair = 0; pair < pairs.count; ++pair, x += 2 * pairs.step, w += kPairBytes) {
      _mm_prefetch(ahead, _MM_HINT_T0);
      ahead += pairs.ahead_step;
      tile.Add(x, pairs.step, w);
    }
    tile.Store(sums + row * kTermChannels);
  }
}

}  // namespace

void InterleaveRows(const TermRows& rows, int vectors, uint8_t* out) {
  const int64_t steps = (rows.depth + 3) / 4, step = vectors * 32;
  for (int v = 0; v < vectors; ++v) {
    const uint8_t* from[8];
    for (int64_t t = 0; t < rows.taps; ++t) {
      for (int p = 0; p < 8; ++p)
        from[p] = rows.rows[std::min<int64_t>(v * 8 + p, rows.count - 1)] + rows.tap_offsets[t];
      InterleaveTap(from, rows.depth, rows.flip, step, out + t * steps * step + v * 32);
    }
  }
}

void RunTermTile(const TermTileArgs& args) {
  alignas(32) int32_t by_channel[kTermChannels * kTermPixels];
  const TermBlocks& blocks = args.table->blocks();
  const int vectors = static_cast<int>((args.rows + kTermLanes - 1) / kTermLanes);
  const int64_t step = vectors * 32;
  for (int64_t block = 0; block < blocks.count; ++block) {
    const TermLists lists = args.table->At(args.panel, block);
    const int64_t begin = blocks.Begin(block), count = blocks.Begin(block + 1) - begin;
    const uint8_t* const x = args.x + begin * 2 * step;
    const int32_t* init = block == 0 ? args.init : nullptr;
    if (!lists.empty) {
      RunLists(vectors, lists, x, init, by_channel);
      TransposeSums(by_channel, vectors, block > 0, args.sums);
      init = nullptr;
    }
    // The next block's, or the next panel's: they follow in the blob.
    const int64_t turns = (args.rows + kTilePixels - 1) / kTilePixels;
    const Pairs pairs{x, step, lists.bytes, count, lists.end, kPairBytes / turns};
    const bool half = args.channels <= kTermChannels / 2;
    (half ? RunPairs<1> : RunPairs<2>)(pairs, args.rows, init, args.sums);
  }
}

}  // namespace fettle::kernels
#else
namespace fettle::kernels {
void InterleaveRows(const TermRows&, int, uint8_t*) {}
void RunTermTile(const TermTileArgs&) {}
}  // namespace fettle::kernels
#endif
