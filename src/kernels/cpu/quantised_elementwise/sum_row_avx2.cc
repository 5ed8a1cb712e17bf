// compiled: unfused
// Sums of bytes by the graph's own operations, 32 bytes at a time: unpacked and packed within the
// same halves of vectors, so that nothing changes places.
#include "kernels/cpu/quantised_elementwise/fused_product.h"

#if defined(__AVX2__)
#include <immintrin.h>

#include <algorithm>

namespace fettle::kernels {
namespace {

constexpr int64_t kVector = 32;

/// The numbers of one operand.
struct Operand {
  Operand(const ByteOperand& type, float sign)
      : flip(_mm256_set1_epi8(static_cast<char>(type.flip))),
        zero(_mm256_set1_ps(type.zero)),
        scale(_mm256_set1_ps(sign * type.scale)) {}

  [[gnu::always_inline]] __m256i Bytes(const uint8_t* from) const {
    return _mm256_xor_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)), flip);
  }
  [[gnu::always_inline]] __m256 Numbers(__m256i steps) const {
    return _mm256_mul_ps(_mm256_sub_ps(_mm256_cvtepi32_ps(steps), zero), scale);
  }
  __m256i flip;
  __m256 zero, scale;
};

class Sums {
 public:
  Sums(const PairRowArgs& row, float sign)
      : a_(row.a_type, 1),
        b_(row.b_type, sign),
        flip_(_mm256_set1_epi8(static_cast<char>(row.y_type.flip))),
        low_(_mm256_set1_epi8(static_cast<char>(static_cast<uint8_t>(row.low)))),
        high_(_mm256_set1_epi8(static_cast<char>(static_cast<uint8_t>(row.high)))),
        zero_(_mm256_set1_epi16(static_cast<int16_t>(row.y_type.zero))),
        scale_(_mm256_set1_ps(row.y_type.scale)),
        reciprocal_(_mm256_set1_ps(row.reciprocal)) {}

  [[gnu::always_inline]] void Run(const uint8_t* a, const uint8_t* b, uint8_t* y) const {
    const __m256i none = _mm256_setzero_si256(), x = a_.Bytes(a), w = b_.Bytes(b);
    const __m256i low = Words(_mm256_unpacklo_epi8(x, none), _mm256_unpacklo_epi8(w, none));
    const __m256i high = Words(_mm256_unpackhi_epi8(x, none), _mm256_unpackhi_epi8(w, none));
    const __m256i bytes = _mm256_max_epu8(low_, _mm256_packus_epi16(low, high));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y),
                        _mm256_xor_si256(_mm256_min_epu8(high_, bytes), flip_));
  }

 private:
  /// P. Markstein's quotient, see pair_row.cc; rounded to the nearest even.
  [[gnu::always_inline]] __m256i Steps(__m256i a, __m256i b) const {
    const __m256 sum = _mm256_add_ps(a_.Numbers(a), b_.Numbers(b));
    const __m256 first = _mm256_mul_ps(sum, reciprocal_);
    const __m256 rest = _mm256_fnmadd_ps(first, scale_, sum);
    return _mm256_cvtps_epi32(_mm256_fmadd_ps(rest, reciprocal_, first));
  }
  [[gnu::always_inline]] __m256i Words(__m256i a, __m256i b) const {
    const __m256i none = _mm256_setzero_si256();
    const __m256i steps =
        _mm256_packs_epi32(Steps(_mm256_unpacklo_epi16(a, none), _mm256_unpacklo_epi16(b, none)),
                           Steps(_mm256_unpackhi_epi16(a, none), _mm256_unpackhi_epi16(b, none)));
    return _mm256_adds_epi16(steps, zero_);
  }

  Operand a_, b_;
  __m256i flip_, low_, high_, zero_;
  __m256 scale_, reciprocal_;
};

void Run(const PairRowArgs& row, float sign) {
  const Sums sums(row, sign);
  int64_t i = 0;
  for (; i + kVector <= row.n; i += kVector) sums.Run(row.a + i, row.b + i, row.y + i);
  if (i == row.n) return;
  uint8_t a[kVector] = {}, b[kVector] = {}, y[kVector];
  std::copy_n(row.a + i, row.n - i, a);
  std::copy_n(row.b + i, row.n - i, b);
  sums.Run(a, b, y);
  std::copy_n(y, row.n - i, row.y + i);
}

}  // namespace

void RunSumRowAvx2(const PairRowArgs& row) { Run(row, 1); }
void RunDifferenceRowAvx2(const PairRowArgs& row) { Run(row, -1); }

}  // namespace fettle::kernels
#endif
