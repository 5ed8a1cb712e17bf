// Panels of BlockMatMul with vpmaddubsw: codes of 4 bits (those of 8 in two halves) times signed
// bytes, whose sums over a block fit 16 bits: 32 / 4 * 2 * 15 * 127 < 2^15.
#include "kernels/cpu/block_product/block_panel.h"

#if defined(__AVX2__)
#include <immintrin.h>

#include <utility>

#include "kernels/cpu/block_product/round_row-inl.h"

namespace fettle::kernels {
namespace {

template <bool kHalves>
[[gnu::always_inline]] inline __m256 LoadScales(const std::byte* from) {
  if constexpr (kHalves) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  } else {
    return _mm256_loadu_ps(reinterpret_cast<const float*>(from));
  }
}

[[gnu::always_inline]] inline __m256i Broadcast(const std::byte* four) {
  int32_t word;
  std::memcpy(&word, four, sizeof(word));
  return _mm256_set1_epi32(word);
}

/// Where a block's products are summed: `low` and `high` count ones and sixteenths of the codes.
template <int kRows, int kVectors>
struct BlockSums {
  __m256i low[kRows][kVectors], high[kRows][kVectors];
};

/// Adds the products of one half of the codes that were read, each of four bytes of a column.
template <int kRows, int kVectors>
[[gnu::always_inline]] inline void AddHalf(const __m256i* codes, const std::byte* a, int64_t stride,
                                           __m256i (*sums)[kVectors]) {
  for (int r = 0; r < kRows; ++r) {
    const __m256i x = Broadcast(a + r * stride);
    for (int v = 0; v < kVectors; ++v) {
      sums[r][v] = _mm256_add_epi16(sums[r][v], _mm256_maddubs_epi16(codes[v], x));
      // In this order: compilers sum by trees, which take more registers than there are.
      asm("" : "+x"(sums[r][v]));
    }
  }
}

/// The sums of a block's products with 8 or 16 columns; `a` is of the first row.
template <int kRows, int kVectors, int kBits>
[[gnu::always_inline]] inline void AddBlock(const std::byte* codes, const std::byte* a,
                                            int64_t stride, int64_t block,
                                            BlockSums<kRows, kVectors>& sums) {
  const __m256i mask = _mm256_set1_epi8(15);
  for (int64_t i = 0; i < block; i += 32 / kBits, codes += 64) {
    __m256i first[kVectors], second[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      const __m256i read = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes) + v);
      first[v] = _mm256_and_si256(read, mask);
      second[v] = _mm256_and_si256(_mm256_srli_epi16(read, 4), mask);
    }
    if constexpr (kBits == 8) {
      AddHalf<kRows, kVectors>(first, a + i, stride, sums.low);
      AddHalf<kRows, kVectors>(second, a + i, stride, sums.high);
    } else {
      AddHalf<kRows, kVectors>(first, a + i / 2, stride, sums.low);
      AddHalf<kRows, kVectors>(second, a + i / 2 + block / 2, stride, sums.low);
    }
  }
}

/// How far ahead of what is read memory is asked for: the CPU by itself does not go on behind a
/// page of 4 KiB.
constexpr int64_t kAhead = 4096;

template <int64_t kBytes>
[[gnu::always_inline]] inline void AskFor(const std::byte* from) {
  for (int64_t line = 0; line < kBytes; line += 64)
    _mm_prefetch(reinterpret_cast<const char*>(from + line), _MM_HINT_T0);
}

/// What a block adds to the results of its columns, `scales` being those of the first column.
template <int kRows, int kVectors, int kBits, bool kHalves>
[[gnu::always_inline]] inline void ScaleBlock(const BlockSums<kRows, kVectors>& sums,
                                              const std::byte* scales, const float* steps,
                                              int64_t stride, int64_t blocks,
                                              __m256 (*y)[kVectors]) {
  const __m256i one = _mm256_set1_epi16(1), sixteen = _mm256_set1_epi16(16);
  for (int v = 0; v < kVectors; ++v, scales += kHalves ? 16 : 32) {
    const __m256 scale = LoadScales<kHalves>(scales);
    const __m256 minimum = LoadScales<kHalves>(scales + (kHalves ? 32 : 64));
    for (int r = 0; r < kRows; ++r) {
      __m256i dots = _mm256_madd_epi16(sums.low[r][v], one);
      if (kBits == 8) dots = _mm256_add_epi32(dots, _mm256_madd_epi16(sums.high[r][v], sixteen));
      const float* step = steps + r * (stride / 4);
      const __m256 factor = _mm256_mul_ps(scale, _mm256_set1_ps(*step));
      y[r][v] = _mm256_fmadd_ps(factor, _mm256_cvtepi32_ps(dots), y[r][v]);
      y[r][v] = _mm256_fmadd_ps(minimum, _mm256_set1_ps(step[blocks]), y[r][v]);
    }
  }
}

/// 8 or 16 of the panel's columns.
template <int kRows, int kVectors, int kBits, bool kHalves>
[[gnu::always_inline]] inline void RunColumns(const BlockTile& tile, int64_t column,
                                              float (*to)[kBlockColumns]) {
  const BlockLayout& layout = *tile.layout;
  const int64_t stride = layout.row_bytes(), blocks = layout.blocks(), block = layout.block;
  const auto* steps = reinterpret_cast<const float*>(tile.rows + layout.steps_at());
  __m256 y[kRows][kVectors];
  for (auto& row : y)
    for (__m256& x : row) x = _mm256_setzero_ps();
  const std::byte *at = tile.panel + column * 4, *a = tile.rows;
  const int64_t block_bytes = layout.block_bytes();
  const std::byte* scales = tile.panel + layout.code_bytes() + column * (kHalves ? 2 : 4);
  for (int64_t b = 0; b < blocks; ++b, at += block_bytes, a += block, scales += block_bytes) {
    AskFor<kBits * 64 + (kHalves ? 64 : 128)>(at + kAhead);
    BlockSums<kRows, kVectors> sums;
    for (int r = 0; r < kRows; ++r)
      for (int v = 0; v < kVectors; ++v) sums.low[r][v] = sums.high[r][v] = _mm256_setzero_si256();
    block == 32 ? AddBlock<kRows, kVectors, kBits>(at, a, stride, 32, sums)
                : AddBlock<kRows, kVectors, kBits>(at, a, stride, 16, sums);
    ScaleBlock<kRows, kVectors, kBits, kHalves>(sums, scales, steps + b, stride, blocks, y);
  }
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kVectors; ++v) _mm256_storeu_ps(to[r] + column + v * 8, y[r][v]);
}

template <int kRows, int kBits, bool kHalves>
void Run(const BlockTile& tile) {
  // Codes of 8 bits have two sums each: there are registers for 8.
  constexpr int kVectors = kRows * kBits > 16 ? 1 : 2;
  float y[kRows][kBlockColumns];
  for (int64_t column = 0; column < kBlockColumns; column += 8 * kVectors)
    RunColumns<kRows, kVectors, kBits, kHalves>(tile, column, y);
  for (int r = 0; r < kRows; ++r) {
    float* c = tile.c + r * tile.c_stride;
    if (tile.columns == kBlockColumns) {
      std::memcpy(c, y[r], sizeof(y[r]));
    } else {
      std::copy_n(y[r], tile.columns, c);
    }
  }
}

template <int kRows, int kBits>
void RunTile(const BlockTile& tile) {
  (tile.layout->halves ? Run<kRows, kBits, true> : Run<kRows, kBits, false>)(tile);
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

void RoundBlocks(const BlockLayout& layout, const float* a, std::byte* row) {
  RoundRowBy(layout, a, row, RoundVectors<4>, RoundVectors<2>);
}

template <size_t... kRow>
constexpr BlockKernels MakeTable(std::index_sequence<kRow...>) {
  BlockKernels table;
  table.rows = sizeof...(kRow);
  ((table.nibbles[kRow + 1] = RunTile<kRow + 1, 4>), ...);
  ((table.bytes[kRow + 1] = RunTile<kRow + 1, 8>), ...);
  table.round = RoundBlocks;
  return table;
}

}  // namespace

const BlockKernels* BlockKernelsAvx2() {
  static constexpr BlockKernels table = MakeTable(std::make_index_sequence<4>());
  return &table;
}

}  // namespace fettle::kernels
#else
namespace fettle::kernels {
const BlockKernels* BlockKernelsAvx2() { return nullptr; }
}  // namespace fettle::kernels
#endif
