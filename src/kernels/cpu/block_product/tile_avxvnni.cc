// Panels of BlockMatMul with vpdpbusd of 256 bits (AVX-VNNI): 8 columns of 4 products an
// instruction. For CPUs that have it and no AVX-512.
#include "kernels/cpu/block_product/block_panel.h"

#if defined(__AVXVNNI__)
#include "kernels/cpu/block_product/vectors8-inl.h"

namespace fettle::kernels {
namespace {

template <int kRows, int kVectors, int kBits>
struct DotSums {
  __m256i dots[kRows][kVectors] = {};

  /// Adds the products of 4 bytes of each row with codes.
  [[gnu::always_inline]] void AddFours(const __m256i* codes, const std::byte* a, int64_t stride) {
    for (int r = 0; r < kRows; ++r) {
      const __m256i x = Broadcast(a + r * stride);
      for (int v = 0; v < kVectors; ++v)
        dots[r][v] = _mm256_dpbusd_avx_epi32(dots[r][v], codes[v], x);
    }
  }
  template <int64_t kBlock>
  [[gnu::always_inline]] void Add(const std::byte* codes, const std::byte* a, int64_t stride) {
#pragma GCC unroll 8
    for (int64_t i = 0; i < (kBits == 8 ? kBlock : kBlock / 2); i += 4, codes += 64) {
      __m256i low[kVectors], high[kVectors];
      for (int v = 0; v < kVectors; ++v) {
        if constexpr (kBits == 8) {
          low[v] = LoadCodes(codes, v);
        } else {
          // The plane lies behind all nibbles.
          const Nibbles both = kBits == kPlanes ? LoadWithPlane<kBlock / 4>(
                                                      codes - i * 16, static_cast<int>(i / 4), v)
                                                : LoadNibbles(codes, v);
          low[v] = both.low;
          high[v] = both.high;
        }
      }
      AddFours(low, a + i, stride);
      if constexpr (kBits != 8) AddFours(high, a + i + kBlock / 2, stride);
    }
  }
  [[gnu::always_inline]] __m256i Dots(int row, int vector) const { return dots[row][vector]; }
};
template <int kRows, int kVectors>
using NibbleSums = DotSums<kRows, kVectors, 4>;
template <int kRows, int kVectors>
using PlaneSums = DotSums<kRows, kVectors, kPlanes>;
template <int kRows, int kVectors>
using ByteSums = DotSums<kRows, kVectors, 8>;

template <size_t... kRow>
constexpr BlockKernels MakeTable(std::index_sequence<kRow...>) {
  BlockKernels table;
  table.rows = sizeof...(kRow);
  ((table.nibbles[kRow + 1] = RunTile<NibbleSums<kRow + 1, 2>, kRow + 1, 2, 4>), ...);
  ((table.bytes[kRow + 1] = table.small[kRow + 1] = RunTile<ByteSums<kRow + 1, 2>, kRow + 1, 2, 8>),
   ...);
  table.planes[1] = RunTile<PlaneSums<1, 2>, 1, 2, kPlanes>;
  table.unpack = UnpackPanel;
  table.scale = ScalePanel;
  table.round = RoundBlocks;
  return table;
}

}  // namespace

const BlockKernels* BlockKernelsAvxVnni() {
  static constexpr BlockKernels table = MakeTable(std::make_index_sequence<4>());
  return &table;
}

}  // namespace fettle::kernels
#else
namespace fettle::kernels {
const BlockKernels* BlockKernelsAvxVnni() { return nullptr; }
}  // namespace fettle::kernels
#endif
