#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "kernels/cpu/bf16/block.h"

#if defined(__AVX512BF16__)
#include <immintrin.h>

namespace fettle::kernels {
namespace {

constexpr int kVector = kBf16Columns / 2;
constexpr int64_t kStep = 2 * kBf16Columns;  // of B, for two of depth
/// Two sums a row leave room for two vectors of B and a pair of A.
constexpr int kMostRows = 12;

__m512bh Pairs(const uint16_t* from) {
  return reinterpret_cast<__m512bh>(_mm512_loadu_si512(from));
}

/// One tile of `kRows` rows.
template <int kRows>
void RunTile(const Bf16BlockArgs& args) {
  __m512 left[kRows], right[kRows];
  for (int r = 0; r < kRows; ++r) {
    left[r] = _mm512_loadu_ps(args.bias);
    right[r] = _mm512_loadu_ps(args.bias + kVector);
  }
  const uint16_t *a = args.a, *b = args.b;
  for (int64_t chunk = 0; chunk < args.chunks; ++chunk, a += args.tile_rows * kBf16Depth) {
    for (int64_t k = 0; k < kBf16Depth; k += 2, b += kStep) {
      const __m512bh b0 = Pairs(b), b1 = Pairs(b + kBf16Columns);
      _mm_prefetch(reinterpret_cast<const char*>(b + 32 * kStep), _MM_HINT_T0);
      _mm_prefetch(reinterpret_cast<const char*>(b + 32 * kStep + kBf16Columns), _MM_HINT_T0);
      for (int r = 0; r < kRows; ++r) {
        int32_t pair;
        std::memcpy(&pair, a + r * kBf16Depth + k, sizeof(pair));
        const auto both = reinterpret_cast<__m512bh>(_mm512_set1_epi32(pair));
        left[r] = _mm512_dpbf16_ps(left[r], both, b0);
        right[r] = _mm512_dpbf16_ps(right[r], both, b1);
      }
    }
  }
  const __m512 low = _mm512_set1_ps(args.low), high = _mm512_set1_ps(args.high);
  const auto mask = static_cast<uint32_t>((uint64_t{1} << args.columns) - 1);
  // Where an operand is NaN the instructions give the second one.
  const auto clamp = [&](__m512 sum) { return _mm512_max_ps(low, _mm512_min_ps(high, sum)); };
  for (int r = 0; r < kRows; ++r) {
    float* c = args.c + r * args.c_stride;
    _mm512_mask_storeu_ps(c, static_cast<__mmask16>(mask), clamp(left[r]));
    const auto second = static_cast<__mmask16>(mask >> kVector);
    if (second != 0) _mm512_mask_storeu_ps(c + kVector, second, clamp(right[r]));
  }
}

template <size_t... kRow>
constexpr auto MakeTable(std::index_sequence<kRow...>) {
  return std::array{RunTile<kRow + 1>...};
}
constexpr auto kTiles = MakeTable(std::make_index_sequence<kMostRows>());

void Run(const Bf16BlockArgs& args) {
  Bf16BlockArgs tile = args;
  tile.rows = std::min<int64_t>(args.rows, args.tile_rows);
  kTiles[tile.rows - 1](tile);
  if (args.rows == tile.rows) return;
  tile.a += args.chunks * args.tile_rows * kBf16Depth;
  tile.c += args.tile_rows * args.c_stride;
  kTiles[args.rows - args.tile_rows - 1](tile);
}

}  // namespace

const Bf16Blocks& Bf16BlocksAvx512() {
  static constexpr Bf16Blocks kBlocks{.most_rows = kMostRows, .run = Run};
  return kBlocks;
}

}  // namespace fettle::kernels
#else
namespace fettle::kernels {
const Bf16Blocks& Bf16BlocksAvx512() {
  static constexpr Bf16Blocks kNone;
  return kNone;
}
}  // namespace fettle::kernels
#endif
