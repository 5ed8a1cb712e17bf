// u8 times i8 with vpdpbusd: 64 products an instruction, summed in i32 without saturation.
#include "kernels/cpu/quantised/microkernel.h"

#if defined(__AVX512VNNI__)
#include <immintrin.h>

#include <cstring>
#include <utility>

namespace fettle::kernels {
namespace {

template <int kVectors, typename Rows>
struct Tile;
/// Rows by kVectors * 16 columns.
template <int kVectors, size_t... kRow>
struct Tile<kVectors, std::index_sequence<kRow...>> {
  __m512i sums[sizeof...(kRow)][kVectors];

  static __m512i Broadcast(const std::byte* a) {
    int32_t bytes;
    std::memcpy(&bytes, a, sizeof(bytes));
    return _mm512_set1_epi32(bytes);
  }
  void ClearRow(size_t r) {
    for (int v = 0; v < kVectors; ++v) sums[r][v] = _mm512_setzero_si512();
  }
  void StoreRow(size_t r, int32_t* c) {
    for (int v = 0; v < kVectors; ++v) _mm512_store_si512(c + v * 16, sums[r][v]);
  }
  // Rows are unrolled by expansion: a loop over them would keep the sums in memory.
  void Start() { (ClearRow(kRow), ...); }
  void Finish(int32_t* c) { (StoreRow(kRow, c + kRow * kVectors * 16), ...); }
  /// kSteps steps: a row's pointer is loaded once for all of them.
  template <int kSteps>
  void Step(const std::byte* const* rows, int64_t offset, const std::byte* b) {
    __m512i columns[kSteps][kVectors];
    for (int s = 0; s < kSteps; ++s) {
      for (int v = 0; v < kVectors; ++v)
        columns[s][v] = _mm512_loadu_si512(b + (s * kVectors + v) * 64);
    }
    const auto row = [&](size_t r, const std::byte* a) {
      for (int s = 0; s < kSteps; ++s) {
        const __m512i x = Broadcast(a + s * 4);
        for (int v = 0; v < kVectors; ++v)
          sums[r][v] = _mm512_dpbusd_epi32(sums[r][v], x, columns[s][v]);
      }
    };
    (row(kRow, rows[kRow] + offset), ...);
  }
};

template <int kRows, int kVectors>
void RunTile(const QuantTileArgs& args) {
  Tile<kVectors, std::make_index_sequence<kRows>> tile;
  tile.Start();
  // As many steps at once as leave registers for the sums.
  constexpr int kSteps = kVectors == 1 ? 2 : 1, kBytes = kVectors * 64;
  const std::byte* b = args.b;
  for (int64_t t = 0; t < args.taps; ++t) {
    const std::byte* rows[kRows];
    for (int r = 0; r < kRows; ++r) rows[r] = args.a[t * kRows + r] + args.a_offset;
    int64_t s = 0;
    for (; s + kSteps <= args.steps; s += kSteps, b += kSteps * kBytes)
      tile.template Step<kSteps>(rows, s * 4, b);
    for (; s < args.steps; ++s, b += kBytes) tile.template Step<1>(rows, s * 4, b);
  }
  tile.Finish(args.c);
}

template <int kVectors, size_t... kRow>
QuantKernels MakeTable(const char* name, std::index_sequence<kRow...>) {
  QuantKernels table;
  table.name = name;
  table.mr = sizeof...(kRow);
  table.nr = kVectors * 16;
  table.wide = false;
  ((table.tile[kRow + 1] = RunTile<kRow + 1, kVectors>), ...);
  return table;
}

}  // namespace

const QuantKernels* QuantKernelsAvx512Vnni(int64_t columns) {
  static const QuantKernels broad = MakeTable<2>("u8x32", std::make_index_sequence<14>());
  static const QuantKernels narrow = MakeTable<1>("u8x16", std::make_index_sequence<28>());
  const int64_t vectors = (columns + 15) / 16;
  return vectors == 1 || vectors == 3 ? &narrow : &broad;
}

}  // namespace fettle::kernels
#else
namespace fettle::kernels {
const QuantKernels* QuantKernelsAvx512Vnni(int64_t) { return nullptr; }
}  // namespace fettle::kernels
#endif
