#include "kernels/cpu/quantised_avx2/wide_row.h"

#if defined(__AVX2__)
#include <immintrin.h>

namespace fettle::kernels {
namespace {

constexpr int64_t kVector = 16, kHalf = 8;

/// What a vector of bytes becomes.
class Widening {
 public:
  Widening(uint8_t flip, int16_t zero)
      : flip_(_mm_set1_epi8(static_cast<char>(flip))), zero_(_mm256_set1_epi16(zero)) {}

  [[gnu::always_inline]] void Vector(const uint8_t* x, int16_t* out) const {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(x));
    const __m256i words = _mm256_cvtepu8_epi16(_mm_xor_si128(bytes, flip_));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm256_sub_epi16(words, zero_));
  }
  [[gnu::always_inline]] void Half(const uint8_t* x, int16_t* out) const {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(x));
    const __m128i words = _mm_cvtepu8_epi16(_mm_xor_si128(bytes, flip_));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out),
                     _mm_sub_epi16(words, _mm256_castsi256_si128(zero_)));
  }

 private:
  __m128i flip_;
  __m256i zero_;
};

}  // namespace

void WidenRowAvx2(const uint8_t* x, int64_t count, uint8_t flip, int16_t zero, int16_t* out) {
  const Widening widening(flip, zero);
  if (count < kHalf) {
    for (int64_t i = 0; i < count; ++i)
      out[i] = static_cast<int16_t>(static_cast<int16_t>(x[i] ^ flip) - zero);
    return;
  }
  int64_t at = 0;
  for (; at + kVector <= count; at += kVector) widening.Vector(x + at, out + at);
  // What is left overlaps what is written.
  if (at + kHalf <= count) {
    widening.Half(x + at, out + at);
    at += kHalf;
  }
  if (at < count) widening.Half(x + count - kHalf, out + count - kHalf);
}

void WidenTapsAvx2(const WideTaps& all, int16_t* out) {
  static_assert(kWideTapsBehind == kVector - 1);
  const Widening widening(all.flip, all.zero);
  for (const uint8_t* row : all.rows) {
    int16_t* to = out;
    for (int64_t tap : all.taps) {
      for (int64_t at = 0; at < all.depth; at += kVector) widening.Vector(row + tap + at, to + at);
      to += all.depth;
    }
    out += all.stride;
  }
}

}  // namespace fettle::kernels
#else
namespace fettle::kernels {
void WidenRowAvx2(const uint8_t*, int64_t, uint8_t, int16_t, int16_t*) {}
void WidenTapsAvx2(const WideTaps&, int16_t*) {}
}  // namespace fettle::kernels
#endif
