// Panels of BlockMatMul with vpmaddubsw: codes times signed bytes, summed in pairs of 16 bits. Sums
// over a block fit these where codes have 4 bits (32 / 4 * 2 * 15 * 127 < 2^15), those of half a
// block where they are small. Others are multiplied as words.
#include "kernels/cpu/block_product/block_panel.h"

#if defined(__AVX2__)
#include "kernels/cpu/block_product/vectors8-inl.h"

namespace fettle::kernels {
namespace {

/// Adds the products of 4 bytes of each row with codes.
template <int kRows, int kVectors>
[[gnu::always_inline]] inline void AddPairs(const __m256i* codes, const std::byte* a,
                                            int64_t stride, __m256i (*sums)[kVectors]) {
  for (int r = 0; r < kRows; ++r) {
    const __m256i x = Broadcast(a + r * stride);
    for (int v = 0; v < kVectors; ++v) {
      sums[r][v] = _mm256_add_epi16(sums[r][v], _mm256_maddubs_epi16(codes[v], x));
      // In this order: compilers sum by trees, which take more registers than there are.
      asm("" : "+x"(sums[r][v]));
    }
  }
}

template <int kRows, int kVectors>
struct NibbleSums {
  __m256i pairs[kRows][kVectors] = {};

  template <int64_t kBlock>
  [[gnu::always_inline]] void Add(const std::byte* codes, const std::byte* a, int64_t stride) {
#pragma GCC unroll 8
    for (int64_t i = 0; i < kBlock / 2; i += 4, codes += 64) {
      __m256i low[kVectors], high[kVectors];
      for (int v = 0; v < kVectors; ++v) {
        const Nibbles both = LoadNibbles(codes, v);
        low[v] = both.low;
        high[v] = both.high;
      }
      AddPairs<kRows, kVectors>(low, a + i, stride, pairs);
      AddPairs<kRows, kVectors>(high, a + i + kBlock / 2, stride, pairs);
    }
  }
  [[gnu::always_inline]] __m256i Dots(int row, int vector) const {
    return _mm256_madd_epi16(pairs[row][vector], _mm256_set1_epi16(1));
  }
};

/// Codes and rows as words, which vpmaddwd multiplies in pairs: those of even places, then the
/// others.
template <int kRows, int kVectors>
struct ByteSums {
  static constexpr bool kWords = true;
  __m256i dots[kRows][kVectors] = {};

  template <int64_t kBlock>
  [[gnu::always_inline]] void Add(const std::byte* codes, const std::byte* a, int64_t stride) {
    const __m256i mask = _mm256_set1_epi16(255);
#pragma GCC unroll 4
    for (int64_t i = 0; i < kBlock; i += 4, codes += 64) {
      __m256i even[kVectors], odd[kVectors];
      for (int v = 0; v < kVectors; ++v) {
        const __m256i four = LoadCodes(codes, v);
        even[v] = _mm256_and_si256(four, mask);
        odd[v] = _mm256_srli_epi16(four, 8);
      }
      AddWords(even, a + i * 2, stride);
      AddWords(odd, a + i * 2 + 4, stride);
    }
  }
  [[gnu::always_inline]] void AddWords(const __m256i* codes, const std::byte* a, int64_t stride) {
    for (int r = 0; r < kRows; ++r) {
      const __m256i x = Broadcast(a + r * stride);
      for (int v = 0; v < kVectors; ++v) {
        dots[r][v] = _mm256_add_epi32(dots[r][v], _mm256_madd_epi16(codes[v], x));
        asm("" : "+x"(dots[r][v]));  // as above
      }
    }
  }
  [[gnu::always_inline]] __m256i Dots(int row, int vector) const { return dots[row][vector]; }
};

/// Rounds a row to bytes, and writes them as ByteSums reads them, where something does.
void RoundToWords(const BlockLayout& layout, const float* a, std::byte* row) {
  RoundBlocks(layout, a, row);
  if (!layout.row_words) return;
  const __m128i order = _mm_set_epi8(15, 13, 14, 12, 11, 9, 10, 8, 7, 5, 6, 4, 3, 1, 2, 0);
  std::byte* words = row + layout.words_at();
  for (int64_t i = 0; i < layout.k; i += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(row + i));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(words + i * 2),
                        _mm256_cvtepi8_epi16(_mm_shuffle_epi8(bytes, order)));
  }
}

/// Of small codes: the sums of half a block fit 16 bits.
template <int kRows, int kVectors>
struct SmallSums {
  __m256i dots[kRows][kVectors];

  template <int64_t kBlock>
  [[gnu::always_inline]] void Add(const std::byte* codes, const std::byte* a, int64_t stride) {
    constexpr int64_t kHalf = kBlock / 2;
    static_assert(kHalf / 2 * SmallCode(kBlock) * 127 < 1 << 15);
#pragma GCC unroll 2
    for (int64_t first = 0; first < kBlock; first += kHalf) {
      __m256i pairs[kRows][kVectors] = {};
#pragma GCC unroll 4
      for (int64_t i = first; i < first + kHalf; i += 4, codes += 64) {
        __m256i four[kVectors];
        for (int v = 0; v < kVectors; ++v) four[v] = LoadCodes(codes, v);
        AddPairs<kRows, kVectors>(four, a + i, stride, pairs);
      }
      for (int r = 0; r < kRows; ++r)
        for (int v = 0; v < kVectors; ++v) {
          const __m256i half = _mm256_madd_epi16(pairs[r][v], _mm256_set1_epi16(1));
          dots[r][v] = first == 0 ? half : _mm256_add_epi32(dots[r][v], half);
        }
    }
  }
  [[gnu::always_inline]] __m256i Dots(int row, int vector) const { return dots[row][vector]; }
};

/// One row by codes with a plane, which are small.
template <int kVectors>
struct PlaneSums {
  __m256i dots[kVectors] = {};

  template <int64_t kBlock>
  [[gnu::always_inline]] void Add(const std::byte* codes, const std::byte* a, int64_t) {
#pragma GCC unroll 4
    for (int i = 0; i < kBlock / 8; ++i) {
      const __m256i x = Broadcast(a + i * 4), y = Broadcast(a + i * 4 + kBlock / 2);
      for (int v = 0; v < kVectors; ++v) {
        const Nibbles both = LoadWithPlane<kBlock / 4>(codes, i, v);
        const __m256i pairs =
            _mm256_add_epi16(_mm256_maddubs_epi16(both.low, x), _mm256_maddubs_epi16(both.high, y));
        dots[v] = _mm256_add_epi32(dots[v], _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
      }
    }
  }
  [[gnu::always_inline]] __m256i Dots(int, int vector) const { return dots[vector]; }
};

template <size_t... kRow>
constexpr BlockKernels MakeTable(std::index_sequence<kRow...>) {
  BlockKernels table;
  table.rows = sizeof...(kRow);
  ((table.nibbles[kRow + 1] = RunTile<NibbleSums<kRow + 1, 2>, kRow + 1, 2, 4>), ...);
  ((table.bytes[kRow + 1] = RunTile<ByteSums<kRow + 1, 2>, kRow + 1, 2, 8>), ...);
  ((table.small[kRow + 1] = RunTile<SmallSums<kRow + 1, 2>, kRow + 1, 2, 8>), ...);
  table.planes[1] = RunTile<PlaneSums<2>, 1, 2, kPlanes>;
  table.unpack = UnpackPanel;
  table.scale = ScalePanel;
  table.round = RoundToWords;
  table.bytes_take_words = true;
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
