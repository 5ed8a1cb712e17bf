#include "kernels/cpu/quantised_avx2/byte_sum.h"

#if defined(__AVX2__)
#include <immintrin.h>

#include <cstring>

namespace fettle::kernels {
namespace {

constexpr int64_t kVector = 32, kHalf = 16;

/// Bytes to keep: those from `kVector - n` on of a vector are its last n.
alignas(64) constexpr uint8_t kLast[2 * kVector] = {
    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

__m256i Load(const uint8_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
__m128i LoadHalf(const uint8_t* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }

/// The first and the last bytes as whole words, what they share in the first alone.
template <typename Word>
uint64_t SumOverlapping(const uint8_t* x, int64_t count, uint8_t flip) {
  constexpr int64_t kBytes = sizeof(Word);
  Word first, last;
  std::memcpy(&first, x, kBytes);
  std::memcpy(&last, x + count - kBytes, kBytes);
  const Word flips = static_cast<Word>(0x0101010101010101) * flip;
  last = count == kBytes ? 0 : static_cast<Word>((last ^ flips) >> (8 * (2 * kBytes - count)));
  const __m128i both =
      _mm_set_epi64x(static_cast<int64_t>(last), static_cast<int64_t>(first ^ flips));
  const __m128i sums = _mm_sad_epu8(both, _mm_setzero_si128());
  return static_cast<uint64_t>(_mm_cvtsi128_si64(sums) + _mm_extract_epi64(sums, 1));
}

int32_t SumShort(const uint8_t* x, int64_t count, uint8_t flip) {
  if (count >= 8) return static_cast<int32_t>(SumOverlapping<uint64_t>(x, count, flip));
  if (count >= 4) return static_cast<int32_t>(SumOverlapping<uint32_t>(x, count, flip));
  int32_t sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += x[i] ^ flip;
  return sum;
}

}  // namespace

int32_t SumBytesAvx2(const uint8_t* x, int64_t count, uint8_t flip) {
  if (count < kHalf) return SumShort(x, count, flip);
  const __m256i flips = _mm256_set1_epi8(static_cast<char>(flip)), none = _mm256_setzero_si256();
  __m256i sums = none;
  int64_t at = 0;
  for (; at + kVector <= count; at += kVector)
    sums = _mm256_add_epi64(sums, _mm256_sad_epu8(_mm256_xor_si256(Load(x + at), flips), none));
  __m128i rest = _mm_setzero_si128();
  const __m128i half_flips = _mm256_castsi256_si128(flips);
  if (at + kHalf <= count) {
    rest = _mm_sad_epu8(_mm_xor_si128(LoadHalf(x + at), half_flips), rest);
    at += kHalf;
  }
  if (at < count) {
    const __m128i kept = LoadHalf(kLast + kHalf + (count - at));
    const __m128i last = _mm_xor_si128(LoadHalf(x + count - kHalf), half_flips);
    rest = _mm_add_epi64(rest, _mm_sad_epu8(_mm_and_si128(last, kept), _mm_setzero_si128()));
  }
  rest = _mm_add_epi64(
      rest, _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1)));
  return static_cast<int32_t>(_mm_cvtsi128_si64(rest) + _mm_extract_epi64(rest, 1));
}

}  // namespace fettle::kernels
#else
namespace fettle::kernels {
int32_t SumBytesAvx2(const uint8_t*, int64_t, uint8_t) { return 0; }
}  // namespace fettle::kernels
#endif
