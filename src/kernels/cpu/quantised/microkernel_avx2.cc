// i16 times i16 with vpmaddwd, which cannot saturate on bytes with their zero points taken off
// (vpmaddubsw could).
#include "kernels/cpu/quantised/microkernel.h"

#if defined(__AVX2__)
#include <immintrin.h>

#include <cstring>
#include <utility>

namespace fettle::kernels {
namespace {

template <int kRows, typename Rows>
struct Tile;
template <int kRows, size_t... kRow>
struct Tile<kRows, std::index_sequence<kRow...>> {
  __m256i low[kRows], high[kRows];

  [[gnu::always_inline]] void StepRow(size_t r, const std::byte* a, __m256i b0, __m256i b1) {
    int32_t pair;
    std::memcpy(&pair, a, sizeof(pair));
    const __m256i x = _mm256_set1_epi32(pair);
    low[r] = _mm256_add_epi32(low[r], _mm256_madd_epi16(x, b0));
    high[r] = _mm256_add_epi32(high[r], _mm256_madd_epi16(x, b1));
  }
  [[gnu::always_inline]] void Start() { ((low[kRow] = high[kRow] = _mm256_setzero_si256()), ...); }
  [[gnu::always_inline]] void Step(const std::byte* const* rows, int64_t offset,
                                   const std::byte* b) {
    const __m256i b0 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b));
    const __m256i b1 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b + 32));
    (StepRow(kRow, rows[kRow] + offset, b0, b1), ...);
  }
  [[gnu::always_inline]] void Finish(int32_t* c) {
    ((_mm256_store_si256(reinterpret_cast<__m256i*>(c + kRow * 16), low[kRow]),
      _mm256_store_si256(reinterpret_cast<__m256i*>(c + kRow * 16 + 8), high[kRow])),
     ...);
  }
};

template <int kRows>
void RunTile(const QuantTileArgs& args) {
  Tile<kRows, std::make_index_sequence<kRows>> tile;
  tile.Start();
  const std::byte* b = args.b;
  for (int64_t t = 0; t < args.taps; ++t) {
    const std::byte* rows[kRows];
    for (int r = 0; r < kRows; ++r) rows[r] = args.a[t * kRows + r] + args.a_offset;
    for (int64_t s = 0; s < args.steps; ++s, b += 64) tile.Step(rows, s * 4, b);
  }
  tile.Finish(args.c);
}

template <size_t... kRow>
QuantKernels MakeTable(std::index_sequence<kRow...>) {
  QuantKernels table;
  table.name = "i16x16";
  table.mr = sizeof...(kRow);
  table.nr = 16;
  ((table.tile[kRow + 1] = RunTile<kRow + 1>), ...);
  return table;
}

}  // namespace

const QuantKernels* QuantKernelsAvx2() {
  static const QuantKernels table = MakeTable(std::make_index_sequence<5>());
  return &table;
}

}  // namespace fettle::kernels
#else
namespace fettle::kernels {
const QuantKernels* QuantKernelsAvx2() { return nullptr; }
}  // namespace fettle::kernels
#endif
