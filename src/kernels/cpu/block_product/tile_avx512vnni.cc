// Panels of BlockMatMul with vpdpbusd: 16 columns of 4 products an instruction.
#include "kernels/cpu/block_product/block_panel.h"

#if defined(__AVX512VNNI__)
#include <immintrin.h>

#include <utility>

#include "kernels/cpu/ask_ahead.h"
#include "kernels/cpu/block_product/round_row-inl.h"

namespace fettle::kernels {
namespace {

/// A branch for each block costs nothing, where code for each type would be twice as long.
[[gnu::always_inline]] inline __m512 LoadScales(int halves, const std::byte* from, int64_t index) {
  if (halves != 0)
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + index * 2)));
  return _mm512_loadu_ps(from + index * 4);
}

[[gnu::always_inline]] inline __m512i Broadcast(const std::byte* four) {
  int32_t word;
  std::memcpy(&word, four, sizeof(word));
  return _mm512_set1_epi32(word);
}

/// Codes i and i + kFours / 2, 4 of each of 16 columns, of a block with a plane, whose bits are
/// shifted to the next ones.
template <int kFours>
[[gnu::always_inline]] inline void AddPlane(__m512i read, __m512i* low_bits, __m512i* high_bits,
                                            __m512i* low, __m512i* high) {
  constexpr int kEach = 8 / kFours;
  const __m512i nibble = _mm512_set1_epi8(15), others = _mm512_set1_epi8(((1 << kEach) - 1) << 4);
  // a | (b & c)
  *low = _mm512_ternarylogic_epi64(_mm512_and_si512(read, nibble), *low_bits, others, 0xf8);
  *high = _mm512_ternarylogic_epi64(_mm512_and_si512(_mm512_srli_epi16(read, 4), nibble),
                                    *high_bits, others, 0xf8);
  *low_bits = _mm512_srli_epi16(*low_bits, kEach);
  *high_bits = _mm512_srli_epi16(*high_bits, kEach);
}

/// What kBits is of a block of 32 of 5 bits and a block of 16 of 6.
constexpr int kPlanes = 6;

template <int kRows, int kFours>
[[gnu::always_inline]] inline void AddPlanes(const std::byte* codes, const std::byte* a,
                                             int64_t stride, __m512i* dots) {
  const std::byte* plane = codes + kFours / 2 * 64;
  __m512i high_bits = _mm512_loadu_si512(plane), low_bits = _mm512_slli_epi16(high_bits, 4);
#pragma GCC unroll 1
  for (; codes != plane; codes += 64, a += 4) {
    __m512i low, high;
    AddPlane<kFours>(_mm512_loadu_si512(codes), &low_bits, &high_bits, &low, &high);
    for (int r = 0; r < kRows; ++r) {
      const std::byte* at = a + r * stride;
      dots[r] = _mm512_dpbusd_epi32(dots[r], low, Broadcast(at));
      dots[r] = _mm512_dpbusd_epi32(dots[r], high, Broadcast(at + kFours * 2));
    }
  }
}

/// Adds a block's products to `dots`; `a` is of the first row.
template <int kRows, int kBits>
[[gnu::always_inline]] inline void AddBlock(const std::byte* codes, const std::byte* a,
                                            int64_t stride, int64_t block, __m512i* dots) {
  if constexpr (kBits == kPlanes)
    return block == 32 ? AddPlanes<kRows, 8>(codes, a, stride, dots)
                       : AddPlanes<kRows, 4>(codes, a, stride, dots);
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

template <int kRows, int kBits>
void RunTile(const BlockTile& tile) {
  const BlockLayout& layout = *tile.layout;
  const int64_t stride = layout.row_bytes(), blocks = layout.blocks(), block = layout.block;
  const int64_t sum_at = layout.sum_at();
  int minima = layout.times_scale == 0 ? 1 : 0;
  const auto* steps = reinterpret_cast<const float*>(tile.rows + layout.steps_at());
  __m512 y[kRows];
  for (__m512& x : y) x = _mm512_setzero_ps();
  const std::byte *at = tile.codes, *scales = tile.scales, *a = tile.rows;
  int halves = layout.halves ? 1 : 0;
  for (int64_t b = 0; b < blocks; ++b, at += tile.codes_stride, a += block, ++steps) {
    asm("" : "+r"(halves), "+r"(minima));  // or the loop is there four times
    AskAhead<kBits * 64 + 64>(at);
    __m512i dots[kRows];
    for (int r = 0; r < kRows; ++r) dots[r] = _mm512_setzero_si512();
    // A constant bound: the loop is unrolled.
    block == 32 ? AddBlock<kRows, kBits>(at, a, stride, 32, dots)
                : AddBlock<kRows, kBits>(at, a, stride, 16, dots);
    const __m512 scale = LoadScales(halves, scales, 0);
    if (minima == 0) {
      for (int r = 0; r < kRows; ++r) {
        const float* step = steps + r * (stride / 4);
        const __m512 product = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dots[r]), _mm512_set1_ps(*step),
                                               _mm512_set1_ps(step[sum_at]));
        y[r] = _mm512_fmadd_ps(scale, product, y[r]);
      }
    } else {
      const __m512 minimum = LoadScales(halves, scales, kBlockColumns);
      for (int r = 0; r < kRows; ++r) {
        const float* step = steps + r * (stride / 4);
        const __m512 factor = _mm512_mul_ps(scale, _mm512_set1_ps(*step));
        y[r] = _mm512_fmadd_ps(factor, _mm512_cvtepi32_ps(dots[r]), y[r]);
        y[r] = _mm512_fmadd_ps(minimum, _mm512_set1_ps(step[sum_at]), y[r]);
      }
    }
    scales += tile.scales_stride;
  }
  const auto mask = static_cast<__mmask16>((uint32_t{1} << tile.columns) - 1);
  for (int r = 0; r < kRows; ++r) _mm512_mask_storeu_ps(tile.c + r * tile.c_stride, mask, y[r]);
}

void UnpackPanel(const BlockLayout& layout, const std::byte* panel, std::byte* out) {
  const int64_t half = layout.block * 8;
  panel += layout.front_bytes();
  for (int64_t b = 0; b < layout.blocks(); ++b, panel += layout.block_bytes(), out += 2 * half) {
    const auto unpack = [&]<int kFours>(std::integral_constant<int, kFours>) {
      AskAhead<kFours * 32 + 128>(panel);
      __m512i high_bits = _mm512_loadu_si512(panel + half);
      __m512i low_bits = _mm512_slli_epi16(high_bits, 4);
      for (int i = 0; i < kFours / 2; ++i) {
        __m512i low, high;
        AddPlane<kFours>(_mm512_loadu_si512(panel + i * 64), &low_bits, &high_bits, &low, &high);
        _mm512_storeu_si512(out + i * 64, low);
        _mm512_storeu_si512(out + half + i * 64, high);
      }
    };
    layout.block == 32 ? unpack(std::integral_constant<int, 8>())
                       : unpack(std::integral_constant<int, 4>());
  }
}

/// Scales that have steps as floats. Asks for twice as much as it reads, for it takes longer than
/// memory does.
void ScalePanel(const BlockLayout& layout, const std::byte* panel, float* out) {
  const int64_t kinds = layout.kinds(), bytes = layout.step_bytes();
  const std::byte* ahead = panel;
  for (const float* end = out + layout.blocks() * kinds * kBlockColumns; out != end;) {
    const __m512 steps[] = {LoadScales(1, panel, 0), LoadScales(1, panel, (kinds - 1) * 16)};
    const std::byte* from = panel + kinds * kBlockColumns * 2;
    panel += bytes;
    for (; from != panel; from += 2 * kBlockColumns, ahead += 64) {
      AskAhead<64>(ahead);
      for (int i = 0; i < 2; ++i, out += kBlockColumns) {
        const auto* sixteen = reinterpret_cast<const __m128i*>(from + i * kBlockColumns);
        const __m512 whole = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(sixteen)));
        _mm512_storeu_ps(out, _mm512_mul_ps(whole, steps[i]));
      }
    }
  }
}

/// 16 values times `inverse`, rounded as RoundProduct does.
[[gnu::always_inline]] inline __m512i RoundProducts(__m512 x, __m512 inverse) {
  const __m512 sum = _mm512_fmadd_ps(x, inverse, _mm512_set1_ps(0x1.8p23F));
  return _mm512_sub_epi32(_mm512_castps_si512(sum), _mm512_set1_epi32(0x4b400000));
}

/// RoundOneBlock of 16 or 32 values.
template <int kVectors>
inline void RoundVectors(const float* a, int8_t* bytes, float* step, float* sum) {
  const __m512 x = _mm512_loadu_ps(a), y = kVectors == 2 ? _mm512_loadu_ps(a + 16) : x;
  const __m512 largest = _mm512_set1_ps(std::numeric_limits<float>::max());
  const __m512 size = _mm512_abs_ps(x), other = _mm512_abs_ps(y);
  const bool is_finite = (_mm512_cmp_ps_mask(size, largest, _CMP_LE_OQ) &
                          _mm512_cmp_ps_mask(other, largest, _CMP_LE_OQ)) == __mmask16{0xffff};
  const float most = _mm512_reduce_max_ps(_mm512_max_ps(size, other));
  if (!is_finite || most < 0x1p-100F)
    return RoundOneBlock(a, int64_t{16} * kVectors, bytes, step, sum);
  const __m512 inverse = _mm512_set1_ps(127.0F / most);
  __m512i total = RoundProducts(x, inverse);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(bytes), _mm512_cvtepi32_epi8(total));
  if constexpr (kVectors == 2) {
    const __m512i second = RoundProducts(y, inverse);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(bytes + 16), _mm512_cvtepi32_epi8(second));
    total = _mm512_add_epi32(total, second);
  }
  *step = most * (1.0F / 127);
  *sum = *step * static_cast<float>(_mm512_reduce_add_epi32(total));
}

void RoundBlocks(const BlockLayout& layout, const float* a, std::byte* row) {
  RoundRowBy(layout, a, row, RoundVectors<2>, RoundVectors<1>);
}

template <size_t... kRow>
constexpr BlockKernels MakeTable(std::index_sequence<kRow...>) {
  BlockKernels table;
  table.rows = kMaxBlockRows;
  ((table.nibbles[kRow] = RunTile<kRow, 4>), ...);
  ((table.bytes[kRow] = table.small[kRow] = RunTile<kRow, 8>), ...);
  table.planes[1] = RunTile<1, kPlanes>;
  table.planes[2] = RunTile<2, kPlanes>;
  table.planes[4] = RunTile<4, kPlanes>;
  table.planes[8] = RunTile<8, kPlanes>;
  table.unpack = UnpackPanel;
  table.scale = ScalePanel;
  table.round = RoundBlocks;
  return table;
}

}  // namespace

const BlockKernels* BlockKernelsAvx512Vnni() {
  static constexpr BlockKernels table =
      MakeTable(std::index_sequence<1, 2, 3, 4, 6, kMaxBlockRows>());
  return &table;
}

}  // namespace fettle::kernels
#else
namespace fettle::kernels {
const BlockKernels* BlockKernelsAvx512Vnni() { return nullptr; }
}  // namespace fettle::kernels
#endif
