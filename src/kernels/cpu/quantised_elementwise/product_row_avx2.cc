// Products of bytes in 16 bits, 32 bytes at a time: unpacked and packed within the same halves of
// vectors, so that nothing changes places.
#include "kernels/cpu/quantised_elementwise/fused_product.h"

#if defined(__AVX2__)
#include <immintrin.h>

#include <algorithm>

namespace fettle::kernels {
namespace {

constexpr int64_t kVector = 32;

__m256i Load(const uint8_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

/// The two halves of the bytes less their zero point, in 16 bits.
struct Words {
  Words(const uint8_t* from, __m256i flip, __m256i zero) {
    const __m256i bytes = _mm256_xor_si256(Load(from), flip), none = _mm256_setzero_si256();
    low = _mm256_sub_epi16(_mm256_unpacklo_epi8(bytes, none), zero);
    high = _mm256_sub_epi16(_mm256_unpackhi_epi8(bytes, none), zero);
  }
  __m256i low, high;
};

class Products {
 public:
  explicit Products(const PairRowArgs& row)
      : a_flip_(Bytes(row.a_type.flip)),
        b_flip_(Bytes(row.b_type.flip)),
        y_flip_(Bytes(row.y_type.flip)),
        a_zero_(_mm256_set1_epi16(static_cast<int16_t>(row.a_type.zero))),
        b_zero_(_mm256_set1_epi16(static_cast<int16_t>(row.b_type.zero))),
        y_zero_(_mm256_set1_epi16(static_cast<int16_t>(row.y_type.zero))),
        low_(Bytes(static_cast<uint8_t>(row.low))),
        high_(Bytes(static_cast<uint8_t>(row.high))),
        factor_(_mm256_set1_ps(row.factor)) {}

  [[gnu::always_inline]] void Run(const uint8_t* a, const uint8_t* b, uint8_t* y) const {
    const Words x(a, a_flip_, a_zero_), w(b, b_flip_, b_zero_);
    const __m256i q = _mm256_packus_epi16(Results(x.low, w.low), Results(x.high, w.high));
    const __m256i bytes = _mm256_min_epu8(high_, _mm256_max_epu8(low_, q));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), _mm256_xor_si256(bytes, y_flip_));
  }

 private:
  static __m256i Bytes(uint8_t value) { return _mm256_set1_epi8(static_cast<char>(value)); }

  [[gnu::always_inline]] __m256i Steps(__m256i products) const {
    return _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_cvtepi32_ps(products), factor_));
  }
  [[gnu::always_inline]] __m256i Results(__m256i a, __m256i b) const {
    const __m256i low = _mm256_mullo_epi16(a, b), high = _mm256_mulhi_epi16(a, b);
    const __m256i steps = _mm256_packs_epi32(Steps(_mm256_unpacklo_epi16(low, high)),
                                             Steps(_mm256_unpackhi_epi16(low, high)));
    return _mm256_adds_epi16(steps, y_zero_);
  }

  __m256i a_flip_, b_flip_, y_flip_, a_zero_, b_zero_, y_zero_, low_, high_;
  __m256 factor_;
};

}  // namespace

void RunProductRowAvx2(const PairRowArgs& row) {
  const Products products(row);
  int64_t i = 0;
  for (; i + kVector <= row.n; i += kVector) products.Run(row.a + i, row.b + i, row.y + i);
  if (i == row.n) return;
  uint8_t a[kVector] = {}, b[kVector] = {}, y[kVector];
  std::copy_n(row.a + i, row.n - i, a);
  std::copy_n(row.b + i, row.n - i, b);
  products.Run(a, b, y);
  std::copy_n(y, row.n - i, row.y + i);
}

}  // namespace fettle::kernels
#endif
