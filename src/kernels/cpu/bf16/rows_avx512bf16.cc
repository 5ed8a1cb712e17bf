// Rows of f32 rounded to bf16.
#include <algorithm>

#include "kernels/cpu/bf16/block.h"

#if defined(__AVX512BF16__)
#include <immintrin.h>

namespace fettle::kernels {
namespace {

constexpr int64_t kVector = 16;

__m512i Round(__m512 first, __m512 second) {
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(second, first));
}

/// A whole chunk.
void PackChunk(const float* from, uint16_t* to) {
  _mm512_storeu_si512(to, Round(_mm512_loadu_ps(from), _mm512_loadu_ps(from + kVector)));
}

/// `count` elements of a chunk.
void PackPart(const float* from, int64_t count, uint16_t* to) {
  const auto mask = static_cast<__mmask32>((uint64_t{1} << count) - 1);
  const __m512 first = _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), from);
  const auto upper = static_cast<__mmask16>(mask >> kVector);
  const __m512 second =
      upper == 0 ? _mm512_setzero_ps() : _mm512_maskz_loadu_ps(upper, from + kVector);
  _mm512_mask_storeu_epi16(to, mask, Round(first, second));
}

/// All taps of one row, where they fill whole chunks.
void PackWholeChunks(const FloatRows& rows, int64_t r, int64_t step, uint16_t* out) {
  for (int64_t t = 0; t < rows.taps; ++t) {
    const float* from = rows.Row(t, r);
    for (int64_t k = 0; k < rows.depth; k += kBf16Depth, out += step) PackChunk(from + k, out);
  }
}

/// The same of taps of any depth.
void PackParts(const FloatRows& rows, int64_t r, int64_t step, uint16_t* out) {
  const int64_t depth = rows.taps * rows.depth;
  if (depth % kBf16Depth != 0)
    _mm512_storeu_si512(out + depth / kBf16Depth * step, _mm512_setzero_si512());
  int64_t at = 0;  // within a chunk
  for (int64_t t = 0; t < rows.taps; ++t) {
    const float* from = rows.Row(t, r);
    for (int64_t left = rows.depth; left > 0;) {
      const int64_t count = std::min(left, kBf16Depth - at);
      PackPart(from, count, out + at);
      from += count;
      left -= count;
      at += count;
      if (at < kBf16Depth) continue;
      at = 0;
      out += step;
    }
  }
}

}  // namespace

void PackBf16Rows(const FloatRows& rows, int tile_rows, uint16_t* out) {
  const auto pack = rows.depth % kBf16Depth == 0 ? PackWholeChunks : PackParts;
  for (int64_t r = 0; r < rows.rows; ++r)
    pack(rows, r, tile_rows * kBf16Depth, out + r * kBf16Depth);
}

}  // namespace fettle::kernels
#else
namespace fettle::kernels {
void PackBf16Rows(const FloatRows&, int, uint16_t*) {}
}  // namespace fettle::kernels
#endif
