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

/// Where a list is read.
struct Cursor {
  const uint8_t* x;
  const int32_t* weights;
  const uint8_t* steps;
};

/// Adds `count` sums of kLength terms to those of kVectors vectors of pixels.
template <int kVectors, int kLength>
[[gnu::always_inline]] inline void AddSums(int count, Cursor& at, Vector* sums) {
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
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      sums[v] = _mm256_add_epi32(sums[v], _mm256_madd_epi16(sum[v], ones));
  }
}

/// One block of a panel; sums are [channel][kTermPixels], and begin with `init` where that is not
/// null.
template <int kVectors>
void RunLists(const TermLists& lists, const uint8_t* x, int64_t channels, const int32_t* init,
              int32_t* sums) {
  Cursor at{x, lists.weights, lists.steps};
  const uint16_t* const counts = lists.counts;
  for (int64_t n = 0; n < channels; ++n, sums += kTermPixels) {
    Vector all[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      all[v] = init != nullptr ? _mm256_set1_epi32(init[n]) : _mm256_load_si256(At(sums + v * 8));
    AddSums<kVectors, kSumLengths[0]>(counts[0], at, all);
    AddSums<kVectors, kSumLengths[1]>(counts[1], at, all);
    AddSums<kVectors, kSumLengths[2]>(counts[2], at, all);
    AddSums<kVectors, kSumLengths[3]>(counts[3], at, all);
    AddSums<kVectors, kSumLengths[4]>(counts[4], at, all);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) _mm256_store_si256(At(sums + v * 8), all[v]);
  }
}

void RunLists(int vectors, const TermLists& lists, const uint8_t* x, int64_t channels,
              const int32_t* init, int32_t* sums) {
  switch (vectors) {
    case 1: return RunLists<1>(lists, x, channels, init, sums);
    case 2: return RunLists<2>(lists, x, channels, init, sums);
    case 3: return RunLists<3>(lists, x, channels, init, sums);
    default: return RunLists<4>(lists, x, channels, init, sums);
  }
}

/// [channel][kTermPixels] to [pixel][kTermChannels].
void TransposeSums(const int32_t* sums, int vectors, int32_t* out) {
  for (int v = 0; v < vectors; ++v) {
    for (int half = 0; half < 2; ++half) {
      Vector x[8];
#pragma GCC unroll 8
      for (int n = 0; n < 8; ++n)
        x[n] = _mm256_load_si256(At(sums + (half * 8 + n) * kTermPixels + v * 8));
      Transpose(x);
#pragma GCC unroll 8
      for (int p = 0; p < 8; ++p)
        _mm256_store_si256(At(out + (v * 8 + p) * kTermChannels + half * 8), x[p]);
    }
  }
}

/// Sums of a tile to bytes, a channel at a time, which are transposed as bytes: a quarter of the
/// vectors that sums are.
class TermBytesOut {
 public:
  explicit TermBytesOut(const RequantiseArgs& args) : args_(args) {
    const int excess = args.is_signed ? 128 : 0;
    zero_ = _mm256_set1_epi16(static_cast<int16_t>(args.zero + excess));
    low_ = _mm256_set1_epi8(static_cast<char>(args.low + excess));
    high_ = _mm256_set1_epi8(static_cast<char>(args.high + excess));
    flip_ = _mm256_set1_epi8(static_cast<char>(excess));
  }

  /// `sums` are [channel][kTermPixels], of `vectors` vectors of pixels.
  void Store(const int32_t* sums, int vectors) const {
    Vector x[kTermChannels];
    for (int64_t n = 0; n < kTermChannels; ++n) x[n] = Channel(sums + n * kTermPixels, n, vectors);
    // Each turn halves how far the bytes of a pixel lie apart.
    Vector y[kTermChannels];
    Turn(x, y);
    Turn(y, x);
    Turn(x, y);
    Turn(y, x);
    StoreAll(x, vectors);
  }

 private:
  [[gnu::always_inline]] static void Turn(const Vector* x, Vector* y) {
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
      y[2 * i] = _mm256_unpacklo_epi8(x[i], x[i + 8]);
      y[2 * i + 1] = _mm256_unpackhi_epi8(x[i], x[i + 8]);
    }
  }
  /// Packs left the pixels 0 to 3 and 4 to 7 of each vector in two halves.
  [[gnu::always_inline]] void StoreAll(const Vector* x, int vectors) const {
    uint8_t* out = args_.bytes;
    const int64_t step = args_.out_stride;
    for (int v = 0; v < vectors; ++v, out += kTermLanes * step) {
#pragma GCC unroll 4
      for (int p = 0; p < 4; ++p) {
        const Vector row = x[v * 4 + p];
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out + p * step), _mm256_castsi256_si128(row));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out + (p + 4) * step),
                         _mm256_extracti128_si256(row, 1));
      }
    }
  }

  /// Bytes of channel `n`; pixels that there are not are like those of the last vector.
  [[gnu::always_inline]] Vector Channel(const int32_t* sums, int64_t n, int vectors) const {
    const __m256 scale = _mm256_set1_ps(args_.scale[n]), add = _mm256_set1_ps(args_.add[n]);
    const auto steps = [&](int v) __attribute__((always_inline)) {
      const Vector sum = _mm256_load_si256(At(sums + std::min(v, vectors - 1) * kTermLanes));
      return _mm256_cvtps_epi32(_mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), scale, add));
    };
    const Vector a = _mm256_adds_epi16(_mm256_packs_epi32(steps(0), steps(1)), zero_);
    const Vector b = _mm256_adds_epi16(_mm256_packs_epi32(steps(2), steps(3)), zero_);
    const Vector bytes = _mm256_packus_epi16(a, b);
    return _mm256_xor_si256(_mm256_min_epu8(high_, _mm256_max_epu8(low_, bytes)), flip_);
  }

  const RequantiseArgs& args_;
  Vector zero_, low_, high_, flip_;
};

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
  alignas(32) int32_t sums[kTermChannels * kTermPixels];
  const TermBlocks& blocks = args.table->blocks();
  for (int64_t block = 0; block < blocks.count; ++block) {
    RunLists(args.vectors, args.table->At(args.panel, block),
             args.x + blocks.Begin(block) * args.vectors * 32, args.channels,
             block == 0 ? args.init : nullptr, sums);
  }
  if (args.results != nullptr) return TermBytesOut(*args.results).Store(sums, args.vectors);
  TransposeSums(sums, args.vectors, args.sums);
}

}  // namespace fettle::kernels
#else
namespace fettle::kernels {
void InterleaveRows(const TermRows&, int, uint8_t*) {}
void RunTermTile(const TermTileArgs&) {}
}  // namespace fettle::kernels
#endif
