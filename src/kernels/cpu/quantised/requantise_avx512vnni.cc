// Four vectors of sums become one of bytes: the saturation of the packs is most of the clamp.
#include "kernels/cpu/quantised/requantise.h"

#if defined(__AVX512VNNI__)
#include <immintrin.h>

#include <algorithm>

namespace fettle::kernels {
namespace {

/// Rows of kVectors * 16 columns, kRows of them in one vector of bytes.
template <int kVectors, bool kSigned>
class ByteRows {
 public:
  static constexpr int kRows = 4 / kVectors, kColumns = kVectors * 16;

  ByteRows(const RequantiseArgs& args, int64_t n)
      : zero_(_mm512_set1_epi16(static_cast<int16_t>(args.zero))),
        low_(_mm512_set1_epi8(static_cast<int8_t>(args.low))),
        high_(_mm512_set1_epi8(static_cast<int8_t>(args.high))),
        columns_(std::min<int64_t>(args.columns - n, kColumns)) {
    for (int v = 0; v < kVectors; ++v) {
      scale_[v] = _mm512_loadu_ps(args.scale + n + v * 16);
      add_[v] = _mm512_loadu_ps(args.add + n + v * 16);
      init_[v] = args.init == nullptr ? _mm512_setzero_si512()
                                      : _mm512_loadu_si512(args.init + n + v * 16);
    }
  }

  /// The first bytes of kRows rows of sums, `stride` apart.
  __m512i Bytes(const int32_t* const* sums) const {
    __m512i x[4];
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < kVectors; ++v) {
        const __m512i sum = _mm512_add_epi32(_mm512_loadu_si512(sums[r] + v * 16), init_[v]);
        const __m512 y = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), scale_[v], add_[v]);
        x[r * kVectors + v] = _mm512_cvtps_epi32(y);
      }
    }
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

  /// Row `r` of the kRows in `bytes`.
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

 private:
  __m512i zero_, low_, high_;
  __m512 scale_[kVectors], add_[kVectors];
  __m512i init_[kVectors];
  int64_t columns_;
};

template <int kVectors, bool kSigned>
void StoreStrip(const RequantiseArgs& args, int64_t n) {
  using Rows = ByteRows<kVectors, kSigned>;
  const Rows rows(args, n);
  for (int64_t row = 0; row < args.rows; row += Rows::kRows) {
    const int32_t* sums[Rows::kRows];
    for (int r = 0; r < Rows::kRows; ++r)
      sums[r] = args.sums + std::min(row + r, args.rows - 1) * args.sums_stride + n;
    const __m512i bytes = rows.Bytes(sums);
    uint8_t* out = args.bytes + row * args.out_stride + n;
    const int64_t left = args.rows - row;
    rows.template StoreRow<0>(bytes, out);
    if (left > 1) rows.template StoreRow<1>(bytes, out + args.out_stride);
    if constexpr (kVectors == 1) {
      if (left > 2) rows.template StoreRow<2>(bytes, out + 2 * args.out_stride);
      if (left > 3) rows.template StoreRow<3>(bytes, out + 3 * args.out_stride);
    }
  }
}

template <bool kSigned>
void StoreStrips(const RequantiseArgs& args) {
  for (int64_t n = 0; n < args.columns; n += 32) {
    if (args.columns - n > 16) {
      StoreStrip<2, kSigned>(args, n);
    } else {
      StoreStrip<1, kSigned>(args, n);
    }
  }
}

}  // namespace

void RequantiseBytesAvx512(const RequantiseArgs& args) {
  if (args.is_signed) {
    StoreStrips<true>(args);
  } else {
    StoreStrips<false>(args);
  }
}

}  // namespace fettle::kernels
#endif
