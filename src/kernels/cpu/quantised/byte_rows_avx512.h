// Sums of rows to rows of bytes, four vectors of sums to one of bytes: the saturation of the packs
// is most of the clamp. For files that are compiled with AVX-512.
#pragma once

#include <immintrin.h>

#include <algorithm>

#include "kernels/cpu/quantised/requantise.h"

namespace fettle::kernels {

/// Rows of kVectors * 16 columns, kRows of them in one vector of bytes.
template <int kVectors, bool kSigned>
class ByteRows {
 public:
  static constexpr int kRows = 4 / kVectors, kColumns = kVectors * 16;

  /// What is stored is a step plus `zero`, within [low, high].
  ByteRows(const RequantiseArgs& args, int64_t n, int32_t zero, int32_t low, int32_t high)
      : zero_(_mm512_set1_epi16(static_cast<int16_t>(zero))),
        low_(_mm512_set1_epi8(static_cast<int8_t>(low))),
        high_(_mm512_set1_epi8(static_cast<int8_t>(high))),
        columns_(std::min<int64_t>(args.columns - n, kColumns)) {
    for (int v = 0; v < kVectors; ++v) {
      scale_[v] = _mm512_loadu_ps(args.scale + n + v * 16);
      add_[v] = _mm512_loadu_ps(args.add + n + v * 16);
      init_[v] = args.init == nullptr ? _mm512_setzero_si512()
                                      : _mm512_loadu_si512(args.init + n + v * 16);
    }
  }

  /// The results of a row of sums in columns v * 16 and on.
  __m512 Results(const int32_t* sums, int v) const {
    const __m512i sum = _mm512_add_epi32(_mm512_loadu_si512(sums + v * 16), init_[v]);
    return _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), scale_[v], add_[v]);
  }

  /// The bytes of kRows rows of steps, [row][vector].
  __m512i Pack(const __m512i* x) const {
    // Packs go by lanes of 128 bits: four columns of each vector end in one of them.
    const __m512i a = _mm512_adds_epi16(_mm512_packs_epi32(x[0], x[1]), zero_);
    const __m512i b = _mm512_adds_epi16(_mm512_packs_epi32(x[2], x[3]), zero_);
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    if constexpr (kSigned) {
      const __m512i q = _mm512_permutexvar_epi32(order, _mm512_packs_epi16(a, b));
      return _mm512_min_epi8(high_, _mm512_max_epi8(low_, q));
    } else {
      const __m512i q = _mm512_permutexvar_epi32(order, _mm512_packus_epi16(a, b));
      return _mm512_min_epu8(high_, _mm512_max_epu8(low_, q));
    }
  }

  /// The first `rows` of kRows rows, `stride` bytes apart.
  void Store(__m512i bytes, int64_t rows, uint8_t* out, int64_t stride) const {
    StoreRow<0>(bytes, out);
    if (rows > 1) StoreRow<1>(bytes, out + stride);
    if constexpr (kVectors == 1) {
      if (rows > 2) StoreRow<2>(bytes, out + 2 * stride);
      if (rows > 3) StoreRow<3>(bytes, out + 3 * stride);
    }
  }

  /// The bytes at `from` that are columns v * 16 and on; others are 0.
  __m128i Load(const uint8_t* from, int v) const {
    if (columns_ == kColumns)
      return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + v * 16));
    const int64_t left = std::clamp<int64_t>(columns_ - v * 16, 0, 16);
    return _mm_maskz_loadu_epi8(static_cast<__mmask16>((uint32_t{1} << left) - 1), from + v * 16);
  }

 private:
  template <int r>
  void StoreRow(__m512i bytes, uint8_t* out) const {
    if constexpr (kVectors == 2) {
      const __m256i row = _mm512_extracti64x4_epi64(bytes, r);
      if (columns_ == kColumns) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), row);
      } else {
        _mm256_mask_storeu_epi8(out, (uint32_t{1} << columns_) - 1, row);
      }
    } else {
      const __m128i row = _mm512_extracti32x4_epi32(bytes, r);
      const auto mask = static_cast<__mmask16>((uint32_t{1} << columns_) - 1);
      _mm_mask_storeu_epi8(out, mask, row);
    }
  }

  __m512i zero_, low_, high_;
  __m512 scale_[kVectors], add_[kVectors];
  __m512i init_[kVectors];
  int64_t columns_;
};

/// Calls strips.Run<vectors>(args, first column) for strips of up to 32 columns.
template <typename Strips>
void ForEachStrip(const RequantiseArgs& args, const Strips& strips) {
  for (int64_t n = 0; n < args.columns; n += 32) {
    if (args.columns - n > 16) {
      strips.template Run<2>(args, n);
    } else {
      strips.template Run<1>(args, n);
    }
  }
}

}  // namespace fettle::kernels
