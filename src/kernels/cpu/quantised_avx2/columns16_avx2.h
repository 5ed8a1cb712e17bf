// Tiles of rows by 16 columns, two 256-bit vectors of i32 sums each. For files that are compiled
// with AVX2.
#pragma once

#include <immintrin.h>

#include <cstring>
#include <utility>

#include "kernels/cpu/quantised/microkernel.h"

namespace fettle::kernels {

/// `Products::Add(sums, x, b)` adds the products of four bytes of a row, in each dword of x, and of
/// columns.
template <typename Products, int kRows, typename Rows>
struct Columns16;
template <typename Products, int kRows, size_t... kRow>
struct Columns16<Products, kRows, std::index_sequence<kRow...>> {
  __m256i low[kRows], high[kRows];

  [[gnu::always_inline]] void StepRow(size_t r, const std::byte* a, __m256i b0, __m256i b1) {
    int32_t bytes;
    std::memcpy(&bytes, a, sizeof(bytes));
    const __m256i x = _mm256_set1_epi32(bytes);
    low[r] = Products::Add(low[r], x, b0);
    high[r] = Products::Add(high[r], x, b1);
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

  static void Run(const QuantTileArgs& args) {
    Columns16 tile;
    tile.Start();
    const std::byte* b = args.b;
    for (int64_t t = 0; t < args.taps; ++t) {
      const std::byte* rows[kRows];
      for (int r = 0; r < kRows; ++r) rows[r] = args.a[t * kRows + r] + args.a_offset;
      for (int64_t s = 0; s < args.steps; ++s, b += 64) tile.Step(rows, s * 4, b);
    }
    tile.Finish(args.c);
  }
};

template <typename Products, size_t... kRow>
QuantKernels MakeColumns16(const char* name, std::index_sequence<kRow...>) {
  QuantKernels table;
  table.name = name;
  table.mr = sizeof...(kRow);
  table.nr = 16;
  ((table.tile[kRow + 1] = Columns16<Products, kRow + 1, std::make_index_sequence<kRow + 1>>::Run),
   ...);
  return table;
}

}  // namespace fettle::kernels
