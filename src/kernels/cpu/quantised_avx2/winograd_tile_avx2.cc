#include "kernels/cpu/quantised_avx2/winograd_tile.h"

#if defined(__AVX2__)
#include <immintrin.h>

namespace fettle::kernels {
namespace {

using Vector = __m256i;

/// Four pixels of a line, of 16 channels, to the points along it.
[[gnu::always_inline]] inline void LinePoints(const uint8_t* x, const int64_t* offsets,
                                              Vector* to) {
  Vector d[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    d[i] = _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + offsets[i])));
  }
  to[0] = _mm256_sub_epi16(d[0], d[2]);
  to[1] = _mm256_add_epi16(d[1], d[2]);
  to[2] = _mm256_sub_epi16(d[2], d[1]);
  to[3] = _mm256_sub_epi16(d[1], d[3]);
}

[[gnu::always_inline]] inline void Store(int16_t* to, Vector x) {
  _mm256_store_si256(reinterpret_cast<Vector*>(to), x);
}

}  // namespace

void TransformByteInput(const ByteWinogradInput& args) {
  const int64_t* const offsets = args.offsets;
  const int64_t step = args.point_step;
  // The zero point is in each pixel, and cancels out in all points but this.
  const Vector zeros = _mm256_set1_epi16(static_cast<int16_t>(4 * args.zero));
  for (int64_t c = 0; c < args.channels; c += 16) {
    const uint8_t* const x = args.x + c;
    int16_t* const to = args.points + c;
    // In an order in which two lines at a time are in registers.
    Vector first[4], third[4];
    LinePoints(x, offsets, first);
    LinePoints(x, offsets + 8, third);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) Store(to + i * step, _mm256_sub_epi16(first[i], third[i]));
    Vector second[4];
    LinePoints(x, offsets + 4, second);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const Vector sum = _mm256_add_epi16(second[i], third[i]);
      Store(to + (4 + i) * step, i == 1 ? _mm256_sub_epi16(sum, zeros) : sum);
      Store(to + (8 + i) * step, _mm256_sub_epi16(third[i], second[i]));
    }
    Vector fourth[4];
    LinePoints(x, offsets + 12, fourth);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) Store(to + (12 + i) * step, _mm256_sub_epi16(second[i], fourth[i]));
  }
}

void TransformByteOutput(const ByteWinogradOutput& args) {
  const int64_t step = args.point_step;
  for (int64_t at = 0; at < args.tiles * kWinogradColumns; at += 8) {
    const auto load = [&](int point) __attribute__((always_inline)) {
      return _mm256_load_si256(reinterpret_cast<const Vector*>(args.points + point * step + at));
    };
    Vector upper[4], lower[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const Vector second = load(4 + i), third = load(8 + i);
      upper[i] = _mm256_add_epi32(load(i), _mm256_add_epi32(second, third));
      lower[i] = _mm256_sub_epi32(_mm256_sub_epi32(second, third), load(12 + i));
    }
    // The columns of two pixels side by side.
    const int64_t to = at / kWinogradColumns * 2 * kWinogradColumns + at % kWinogradColumns;
    const auto store = [&](const Vector* x, int32_t* line) __attribute__((always_inline)) {
      const Vector left = _mm256_add_epi32(_mm256_add_epi32(x[0], x[1]), x[2]);
      const Vector right = _mm256_sub_epi32(_mm256_sub_epi32(x[1], x[2]), x[3]);
      _mm256_store_si256(reinterpret_cast<Vector*>(line + to), _mm256_srai_epi32(left, 2));
      _mm256_store_si256(reinterpret_cast<Vector*>(line + to + kWinogradColumns),
                         _mm256_srai_epi32(right, 2));
    };
    store(upper, args.upper);
    store(lower, args.lower);
  }
}

}  // namespace fettle::kernels
#else
namespace fettle::kernels {
void TransformByteInput(const ByteWinogradInput&) {}
void TransformByteOutput(const ByteWinogradOutput&) {}
}  // namespace fettle::kernels
#endif
