// Panels of BlockMatMul with vpmaddubsw: codes times signed bytes, summed in pairs of 16 bits. Sums
// over a block fit these where codes have 4 bits (32 / 4 * 2 * 15 * 127 < 2^15), so that codes of 8
// are taken in two halves; where none is above 63 two sums fit.
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

/// Ones and sixteenths of the codes have sums of their own.
template <int kRows, int kVectors>
struct ByteSums {
  __m256i ones[kRows][kVectors] = {}, sixteenths[kRows][kVectors] = {};

  template <int64_t kBlock>
  [[gnu::always_inline]] void Add(const std::byte* codes, const std::byte* a, int64_t stride) {
#pragma GCC unroll 8
    for (int64_t i = 0; i < kBlock; i += 4, codes += 64) {
      __m256i low[kVectors], high[kVectors];
      for (int v = 0; v < kVectors; ++v) {
        const Nibbles both = LoadNibbles(codes, v);
        low[v] = both.low;
        high[v] = both.high;
      }
      AddPairs<kRows, kVectors>(low, a + i, stride, ones);
      AddPairs<kRows, kVectors>(high, a + i, stride, sixteenths);
    }
  }
  [[gnu::always_inline]] __m256i Dots(int row, int vector) const {
    const __m256i one = _mm256_set1_epi16(1), sixteen = _mm256_set1_epi16(16);
    return _mm256_add_epi32(_mm256_madd_epi16(ones[row][vector], one),
                            _mm256_madd_epi16(sixteenths[row][vector], sixteen));
  }
};

/// Of codes up to kSmallCode.
static_assert(2 * 2 * kSmallCode * 127 < 1 << 15);
template <int kRows, int kVectors>
struct SmallSums {
  __m256i dots[kRows][kVectors] = {};

  template <int64_t kBlock>
  [[gnu::always_inline]] void Add(const std::byte* codes, const std::byte* a, int64_t stride) {
    const __m256i one = _mm256_set1_epi16(1);
#pragma GCC unroll 4
    for (int64_t i = 0; i < kBlock; i += 8, codes += 128) {
      __m256i first[kVectors], second[kVectors];
      for (int v = 0; v < kVectors; ++v) {
        first[v] = LoadCodes(codes, v);
        second[v] = LoadCodes(codes + 64, v);
      }
      for (int r = 0; r < kRows; ++r) {
        const __m256i x = Broadcast(a + r * stride + i), y = Broadcast(a + r * stride + i + 4);
        for (int v = 0; v < kVectors; ++v) {
          const __m256i pairs = _mm256_add_epi16(_mm256_maddubs_epi16(first[v], x),
                                                 _mm256_maddubs_epi16(second[v], y));
          dots[r][v] = _mm256_add_epi32(dots[r][v], _mm256_madd_epi16(pairs, one));
          asm("" : "+x"(dots[r][v]));  // as above
        }
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

/// There are registers for 8 sums, two of each vector.
constexpr int ByteVectors(int rows) { return rows > 2 ? 1 : 2; }

template <size_t... kRow>
constexpr BlockKernels MakeTable(std::index_sequence<kRow...>) {
  BlockKernels table;
  table.rows = sizeof...(kRow);
  ((table.nibbles[kRow + 1] = RunTile<NibbleSums<kRow + 1, 2>, kRow + 1, 2, 4>), ...);
  ((table.bytes[kRow + 1] =
        RunTile<ByteSums<kRow + 1, ByteVectors(kRow + 1)>, kRow + 1, ByteVectors(kRow + 1), 8>),
   ...);
  ((table.small[kRow + 1] = RunTile<SmallSums<kRow + 1, 2>, kRow + 1, 2, 8>), ...);
  table.planes[1] = RunTile<PlaneSums<2>, 1, 2, kPlanes>;
  table.unpack = UnpackPanel;
  table.scale = ScalePanel;
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
