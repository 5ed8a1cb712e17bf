// Sums of rows to rows of bytes, four vectors of sums to one of bytes: the saturation of the packs
// is most of the clamp. For files that are compiled with AVX-512.
#pragma once

#include <immintrin.h>

#include <algorithm>

#include "kernels/cpu/quantised/requantise.h"

namespace fettle::kernels {

/// Up to kVectors * 16 columns of all rows, all of them columns that count where kWhole; kRows rows
/// make one vector of bytes. Holds what the rows have in common: stores of bytes might change
/// anything that is read through a pointer.
template <int kVectors, bool kWhole, bool kSigned>
class ByteRows {
 public:
  static constexpr int kRows = 4 / kVectors, kColumns = kVectors * 16;

  /// The columns from `n` on. What is stored is a step plus `zero`, within [low, high].
  ByteRows(const RequantiseArgs& args, int64_t n, int32_t zero, int32_t low, int32_t high)
      : sums_(args.sums + n),
        row_sums_(args.row_sums),
        w_zero_(args.w_zero + n),
        bytes_(args.bytes + n),
        shortcut_(args.shortcut == nullptr ? nullptr : args.shortcut + n),
        sums_stride_(args.sums_stride),
        out_stride_(args.out_stride),
        rows_(args.rows),
        mask_(~uint32_t{0} >> (32 - std::min<int64_t>(args.columns - n, kColumns))),
        zero_(_mm512_set1_epi16(static_cast<int16_t>(zero))),
        low_(_mm512_set1_epi8(static_cast<int8_t>(low))),
        high_(_mm512_set1_epi8(static_cast<int8_t>(high))) {
    for (int v = 0; v < kVectors; ++v) {
      scale_[v] = _mm512_loadu_ps(args.scale + n + v * 16);
      add_[v] = _mm512_loadu_ps(args.add + n + v * 16);
      init_[v] = args.init == nullptr ? _mm512_setzero_si512()
                                      : _mm512_loadu_si512(args.init + n + v * 16);
    }
  }

  /// Stores to_steps(results, shortcut) for all rows, where `shortcut` calls for 16 bytes of it.
  template <typename ToSteps>
  void Run(const ToSteps& to_steps) const {
    int64_t row = 0;
    for (; row + kRows <= rows_; row += kRows) RunGroup<true>(to_steps, row);
    if (row < rows_) RunGroup<false>(to_steps, row);
  }

 private:
  /// kRows rows; the last one again for those that there are not, where not kAll.
  template <bool kAll, typename ToSteps>
  void RunGroup(const ToSteps& to_steps, int64_t row) const {
    const int64_t rows = kAll ? kRows : rows_ - row;
    __m512i x[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const int v = i % kVectors;
      const int64_t r = row + (kAll ? i / kVectors : std::min<int64_t>(i / kVectors, rows - 1));
      x[i] = to_steps(Results(r, v), [&] { return Load(shortcut_ + r * out_stride_, v); });
    }
    const __m512i bytes = Pack(x);
    uint8_t* out = bytes_ + row * out_stride_;
    StoreRow<0>(bytes, out);
    if (kAll || rows > 1) StoreRow<1>(bytes, out + out_stride_);
    if constexpr (kVectors == 1) {
      if (kAll || rows > 2) StoreRow<2>(bytes, out + 2 * out_stride_);
      if (kAll) StoreRow<3>(bytes, out + 3 * out_stride_);
    }
  }

  /// The results of row `r` in columns v * 16 and on.
  __m512 Results(int64_t r, int v) const {
    const int32_t* const sums = sums_ + r * sums_stride_ + v * 16;
    __m512i sum = _mm512_add_epi32(_mm512_loadu_si512(sums), init_[v]);
    if (row_sums_ != nullptr) {
      sum = _mm512_sub_epi32(sum, _mm512_mullo_epi32(_mm512_set1_epi32(row_sums_[r]),
                                                     _mm512_loadu_si512(w_zero_ + v * 16)));
    }
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

  /// The bytes at `from` that are columns v * 16 and on; others are 0.
  __m128i Load(const uint8_t* from, int v) const {
    if constexpr (kWhole) return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + v * 16));
    return _mm_maskz_loadu_epi8(static_cast<__mmask16>(mask_ >> (v * 16)), from + v * 16);
  }

  template <int r>
  void StoreRow(__m512i bytes, uint8_t* out) const {
    if constexpr (kVectors == 2) {
      const __m256i row = _mm512_extracti64x4_epi64(bytes, r);
      if constexpr (kWhole) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), row);
      } else {
        _mm256_mask_storeu_epi8(out, mask_, row);
      }
    } else {
      const __m128i row = _mm512_extracti32x4_epi32(bytes, r);
      if constexpr (kWhole) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out), row);
      } else {
        _mm_mask_storeu_epi8(out, static_cast<__mmask16>(mask_), row);
      }
    }
  }

  const int32_t* sums_;
  const int32_t *row_sums_, *w_zero_;
  uint8_t* bytes_;
  const uint8_t* shortcut_;
  int64_t sums_stride_, out_stride_, rows_;
  uint32_t mask_;  // of the columns that count
  __m512i zero_, low_, high_;
  __m512 scale_[kVectors], add_[kVectors];
  __m512i init_[kVectors];
};

/// Calls strips.Run<vectors, whole>(args, first column) for strips of up to 32 columns.
template <typename Strips>
void ForEachStrip(const RequantiseArgs& args, const Strips& strips) {
  for (int64_t n = 0; n < args.columns; n += 32) {
    const int64_t columns = args.columns - n;
    if (columns >= 32) {
      strips.template Run<2, true>(args, n);
    } else if (columns > 16) {
      strips.template Run<2, false>(args, n);
    } else if (columns == 16) {
      strips.template Run<1, true>(args, n);
    } else {
      strips.template Run<1, false>(args, n);
    }
  }
}

}  // namespace fettle::kernels
