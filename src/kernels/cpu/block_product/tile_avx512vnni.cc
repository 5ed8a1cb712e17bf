// Panels of BlockMatMul with vpdpbusd: 16 columns of 4 products an instruction.
#include "kernels/cpu/block_product/block_panel.h"

#if defined(__AVX512VNNI__)
#include <immintrin.h>

#include <utility>

#include "kernels/cpu/block_product/round_row-inl.h"

namespace fettle::kernels {
namespace {

template <bool kHalves>
[[gnu::always_inline]] inline __m512 LoadScales(const std::byte* from) {
  if constexpr (kHalves) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  } else {
    return _mm512_loadu_ps(from);
  }
}

[[gnu::always_inline]] inline __m512i Broadcast(const std::byte* four) {
  int32_t word;
  std::memcpy(&word, four, sizeof(word));
  return _mm512_set1_epi32(word);
}

/// Adds a block's products to `dots`; `a` is of the first row.
template <int kRows, int kBits>
[[gnu::always_inline]] inline void AddBlock(const std::byte* codes, const std::byte* a,
                                            int64_t stride, int64_t block, __m512i* dots) {
  const __m512i low = _mm512_set1_epi8(15);
  for (int64_t i = 0; i < block; i += 32 / kBits, codes += 64) {
    const __m512i read = _mm512_loadu_si512(codes);
    if constexpr (kBits == 8) {
      for (int r = 0; r < kRows; ++r)
        dots[r] = _mm512_dpbusd_epi32(dots[r], read, Broadcast(a + r * stride + i));
    } else {
      const __m512i first = _mm512_and_si512(read, low);
      const __m512i second = _mm512_and_si512(_mm512_srli_epi16(read, 4), low);
      const std::byte* at = a + i / 2;
      for (int r = 0; r < kRows; ++r) {
        dots[r] = _mm512_dpbusd_epi32(dots[r], first, Broadcast(at + r * stride));
        dots[r] = _mm512_dpbusd_epi32(dots[r], second, Broadcast(at + r * stride + block / 2));
      }
    }
  }
}

template <int kRows, int kBits, bool kHalves>
void Run(const BlockTile& tile) {
  const BlockLayout& layout = *tile.layout;
  const int64_t stride = layout.row_bytes(), blocks = layout.blocks(), block = layout.block;
  const auto* steps = reinterpret_cast<const float*>(tile.rows + layout.steps_at());
  __m512 scaled[kRows], shifted[kRows];
  for (int r = 0; r < kRows; ++r) scaled[r] = shifted[r] = _mm512_setzero_ps();
  const std::byte *at = tile.panel, *a = tile.rows;
  const int64_t code_bytes = layout.code_bytes(), block_bytes = layout.block_bytes();
  for (int64_t b = 0; b < blocks; ++b, at += block_bytes, a += block) {
    __m512i dots[kRows];
    for (int r = 0; r < kRows; ++r) dots[r] = _mm512_setzero_si512();
    // A constant bound: the loop is unrolled.
    block == 32 ? AddBlock<kRows, kBits>(at, a, stride, 32, dots)
                : AddBlock<kRows, kBits>(at, a, stride, 16, dots);
    const __m512 scale = LoadScales<kHalves>(at + code_bytes);
    const __m512 minimum = LoadScales<kHalves>(at + code_bytes + (kHalves ? 32 : 64));
    for (int r = 0; r < kRows; ++r) {
      const float* step = steps + r * (stride / 4) + b;
      const __m512 factor = _mm512_mul_ps(scale, _mm512_set1_ps(*step));
      scaled[r] = _mm512_fmadd_ps(factor, _mm512_cvtepi32_ps(dots[r]), scaled[r]);
      shifted[r] = _mm512_fmadd_ps(minimum, _mm512_set1_ps(step[blocks]), shifted[r]);
    }
  }
  const auto mask = static_cast<__mmask16>((uint32_t{1} << tile.columns) - 1);
  for (int r = 0; r < kRows; ++r)
    _mm512_mask_storeu_ps(tile.c + r * tile.c_stride, mask, _mm512_add_ps(scaled[r], shifted[r]));
}

template <int kRows, int kBits>
void RunTile(const BlockTile& tile) {
  (tile.layout->halves ? Run<kRows, kBits, true> : Run<kRows, kBits, false>)(tile);
}

template <size_t... kRow>
constexpr BlockKernels MakeTable(std::index_sequence<kRow...>) {
  BlockKernels table;
  table.rows = sizeof...(kRow);
  ((table.nibbles[kRow + 1] = RunTile<kRow + 1, 4>), ...);
  ((table.bytes[kRow + 1] = RunTile<kRow + 1, 8>), ...);
  table.round = RoundRow;
  return table;
}

}  // namespace

const BlockKernels* BlockKernelsAvx512Vnni() {
  static constexpr BlockKernels table = MakeTable(std::make_index_sequence<kMaxBlockRows>());
  return &table;
}

}  // namespace fettle::kernels
#else
namespace fettle::kernels {
const BlockKernels* BlockKernelsAvx512Vnni() { return nullptr; }
}  // namespace fettle::kernels
#endif
