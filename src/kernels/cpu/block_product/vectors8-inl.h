// Panels of BlockMatMul by vectors of 8 columns: what AVX2 and AVX-VNNI share. `Sums` is how a set
// multiplies: struct Sums<rows, vectors>, the sums of a block's products, which begin at 0, with
//   Add<block>(codes, a, stride)  those of a block; `a` is of the first row
//   Dots(row, vector)             as 8 whole numbers
// With Sums::kWords `a` is of words.
#pragma once

#include <immintrin.h>

#include <utility>

#include "kernels/cpu/ask_ahead.h"
#include "kernels/cpu/block_product/round_row-inl.h"

namespace fettle::kernels {
namespace {

/// 8 scales or minima from `index` on. A branch for each block costs nothing, where code for each
/// type would be twice as long.
[[gnu::always_inline]] inline __m256 LoadScales(int halves, const std::byte* from, int64_t index) {
  if (halves != 0)
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + index * 2)));
  return _mm256_loadu_ps(reinterpret_cast<const float*>(from + index * 4));
}

[[gnu::always_inline]] inline __m256i Broadcast(const std::byte* four) {
  int32_t word;
  std::memcpy(&word, four, sizeof(word));
  return _mm256_set1_epi32(word);
}

[[gnu::always_inline]] inline __m256i LoadCodes(const std::byte* codes, int vector) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes) + vector);
}

/// Two codes of 4 bits in each byte.
struct Nibbles {
  __m256i low, high;
};
[[gnu::always_inline]] inline Nibbles LoadNibbles(const std::byte* codes, int vector) {
  const __m256i mask = _mm256_set1_epi8(15), read = LoadCodes(codes, vector);
  return {_mm256_and_si256(read, mask), _mm256_and_si256(_mm256_srli_epi16(read, 4), mask)};
}

/// Codes i and i + kFours / 2, 4 of each of 8 columns, of a block with a plane.
template <int kFours>
[[gnu::always_inline]] inline Nibbles LoadWithPlane(const std::byte* codes, int i, int vector) {
  constexpr int kEach = 8 / kFours;
  const __m256i others = _mm256_set1_epi8(((1 << kEach) - 1) << 4);
  const __m256i plane = LoadCodes(codes + kFours / 2 * 64, vector);
  const Nibbles lowest = LoadNibbles(codes + i * 64, vector);
  return {
      _mm256_or_si256(lowest.low,
                      _mm256_and_si256(_mm256_slli_epi16(plane, 4 - i * kEach), others)),
      _mm256_or_si256(lowest.high, _mm256_and_si256(_mm256_srli_epi16(plane, i * kEach), others))};
}

/// What kBits is of a block of 32 of 5 bits and a block of 16 of 6.
constexpr int kPlanes = 6;

/// The codes of a panel with planes as bytes.
inline void UnpackPanel(const BlockLayout& layout, const std::byte* panel, std::byte* out) {
  const int64_t half = layout.block * 8;
  panel += layout.front_bytes();
  for (int64_t b = 0; b < layout.blocks(); ++b, panel += layout.block_bytes(), out += 2 * half) {
    const auto unpack = [&]<int kFours>(std::integral_constant<int, kFours>) {
      AskAhead<kFours * 32 + 128>(panel);
#pragma GCC unroll 8
      for (int i = 0; i < kFours; ++i) {
        const Nibbles both = LoadWithPlane<kFours>(panel, i / 2, i % 2);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out) + i, both.low);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + half) + i, both.high);
      }
    };
    layout.block == 32 ? unpack(std::integral_constant<int, 8>())
                       : unpack(std::integral_constant<int, 4>());
  }
}

/// Scales that have steps as floats. Asks for twice as much as it reads, for it takes longer than
/// memory does.
inline void ScalePanel(const BlockLayout& layout, const std::byte* panel, float* out) {
  const int64_t kinds = layout.kinds(), bytes = layout.step_bytes();
  const std::byte* ahead = panel;
  for (const float* end = out + layout.blocks() * kinds * kBlockColumns; out != end;) {
    __m256 steps[4];
    for (int i = 0; i < 4; ++i) steps[i] = LoadScales(1, panel, kinds == 2 ? i * 8 : i % 2 * 8);
    const std::byte* from = panel + kinds * kBlockColumns * 2;
    panel += bytes;
    for (; from != panel; from += 2 * kBlockColumns, ahead += 64) {
      AskAhead<64>(ahead);
      for (int i = 0; i < 4; ++i, out += 8) {
        const __m128i eight = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from + i * 8));
        const __m256 whole = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(eight));
        _mm256_storeu_ps(out, _mm256_mul_ps(whole, steps[i]));
      }
    }
  }
}

/// What a block adds to the results of columns from `column` on. `steps` is of the first row; the
/// sums lie `sum_at` behind it, and are those for minima where there are some.
template <bool kMinima, int kRows, int kVectors, typename Sums>
[[gnu::always_inline]] inline void ScaleBlock(const Sums& sums, int halves, const std::byte* scales,
                                              int64_t column, const float* steps, int64_t stride,
                                              int64_t sum_at, __m256 (*y)[kVectors]) {
  for (int v = 0; v < kVectors; ++v) {
    const __m256 scale = LoadScales(halves, scales, column + v * 8);
    __m256 minimum;
    if constexpr (kMinima) minimum = LoadScales(halves, scales, column + v * 8 + kBlockColumns);
    for (int r = 0; r < kRows; ++r) {
      const float* step = steps + r * (stride / 4);
      const __m256 dots = _mm256_cvtepi32_ps(sums.Dots(r, v)), times = _mm256_set1_ps(*step),
                   sum = _mm256_set1_ps(step[sum_at]);
      if constexpr (kMinima) {
        y[r][v] = _mm256_fmadd_ps(_mm256_mul_ps(scale, times), dots, y[r][v]);
        y[r][v] = _mm256_fmadd_ps(minimum, sum, y[r][v]);
      } else {
        y[r][v] = _mm256_fmadd_ps(scale, _mm256_fmadd_ps(dots, times, sum), y[r][v]);
      }
    }
  }
}

/// 8 or 16 of the panel's columns.
template <typename Sums, int kRows, int kVectors, int kBits>
[[gnu::always_inline]] inline void RunColumns(const BlockTile& tile, int64_t column,
                                              float (*to)[kBlockColumns]) {
  const BlockLayout& layout = *tile.layout;
  const int64_t stride = layout.row_bytes(), blocks = layout.blocks(), block = layout.block;
  const int64_t sum_at = layout.sum_at();
  int minima = layout.times_scale == 0 ? 1 : 0;
  const auto* steps = reinterpret_cast<const float*>(tile.rows + layout.steps_at());
  __m256 y[kRows][kVectors];
  for (auto& row : y)
    for (__m256& x : row) x = _mm256_setzero_ps();
  const std::byte *at = tile.codes + column * 4, *scales = tile.scales, *a = tile.rows;
  constexpr bool kWords = requires { Sums::kWords; };
  if constexpr (kWords) a += layout.words_at();
  int halves = layout.halves ? 1 : 0;
  for (int64_t b = 0; b < blocks; ++b, at += tile.codes_stride, a += kWords ? 2 * block : block) {
    asm("" : "+r"(halves), "+r"(minima));  // or the loop is there four times
    AskAhead<kBits * 64 + 64>(at);
    Sums sums;
    block == 32 ? sums.template Add<32>(at, a, stride) : sums.template Add<16>(at, a, stride);
    minima ? ScaleBlock<true, kRows, kVectors>(sums, halves, scales, column, steps + b, stride,
                                               sum_at, y)
           : ScaleBlock<false, kRows, kVectors>(sums, halves, scales, column, steps + b, stride,
                                                sum_at, y);
    scales += tile.scales_stride;
  }
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kVectors; ++v) _mm256_storeu_ps(to[r] + column + v * 8, y[r][v]);
}

template <typename Sums, int kRows, int kVectors, int kBits>
void RunTile(const BlockTile& tile) {
  float y[kRows][kBlockColumns];
  for (int64_t column = 0; column < kBlockColumns; column += 8 * kVectors)
    RunColumns<Sums, kRows, kVectors, kBits>(tile, column, y);
  for (int r = 0; r < kRows; ++r) {
    float* c = tile.c + r * tile.c_stride;
    if (tile.columns == kBlockColumns) {
      std::memcpy(c, y[r], sizeof(y[r]));
    } else {
      std::copy_n(y[r], tile.columns, c);
    }
  }
}

/// RoundOneBlock of 16 or 32 values.
template <int kVectors>
inline void RoundVectors(const float* a, int8_t* bytes, float* step, float* sum) {
  const __m256 magnitude = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff));
  const __m256 largest = _mm256_set1_ps(std::numeric_limits<float>::max());
  __m256 x[kVectors], most8 = _mm256_setzero_ps(),
                      finite = _mm256_castsi256_ps(_mm256_set1_epi32(-1));
  for (int i = 0; i < kVectors; ++i) {
    x[i] = _mm256_loadu_ps(a + i * 8);
    const __m256 size = _mm256_and_ps(x[i], magnitude);
    finite = _mm256_and_ps(finite, _mm256_cmp_ps(size, largest, _CMP_LE_OQ));
    most8 = _mm256_max_ps(most8, size);
  }
  __m128 most4 = _mm_max_ps(_mm256_castps256_ps128(most8), _mm256_extractf128_ps(most8, 1));
  most4 = _mm_max_ps(most4, _mm_movehl_ps(most4, most4));
  const float most = std::max(_mm_cvtss_f32(most4), _mm_cvtss_f32(_mm_movehdup_ps(most4)));
  if (_mm256_movemask_ps(finite) != 0xff || most < 0x1p-100F)
    return RoundOneBlock(a, int64_t{8} * kVectors, bytes, step, sum);
  const __m256 inverse = _mm256_set1_ps(127.0F / most), shift = _mm256_set1_ps(0x1.8p23F);
  __m256i whole[kVectors], total = _mm256_setzero_si256();
  for (int i = 0; i < kVectors; ++i) {  // as RoundProduct rounds
    const __m256 moved = _mm256_fmadd_ps(x[i], inverse, shift);
    whole[i] = _mm256_sub_epi32(_mm256_castps_si256(moved), _mm256_set1_epi32(0x4b400000));
    total = _mm256_add_epi32(total, whole[i]);
  }
  for (int i = 0; i < kVectors; i += 2) {
    const __m256i pairs =
        _mm256_permute4x64_epi64(_mm256_packs_epi32(whole[i], whole[i + 1]), 0xd8);
    const __m128i packed =
        _mm_packs_epi16(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(bytes + i * 8), packed);
  }
  __m128i four = _mm_add_epi32(_mm256_castsi256_si128(total), _mm256_extracti128_si256(total, 1));
  four = _mm_hadd_epi32(four, four);
  four = _mm_hadd_epi32(four, four);
  *step = most * (1.0F / 127);
  *sum = *step * static_cast<float>(_mm_cvtsi128_si32(four));
}

inline void RoundBlocks(const BlockLayout& layout, const float* a, std::byte* row) {
  RoundRowBy(layout, a, row, RoundVectors<4>, RoundVectors<2>);
}

}  // namespace
}  // namespace fettle::kernels
