// u8 times i8 with vpdpbusd: 64 products an instruction, summed in i32 without saturation.
#include "kernels/cpu/quantised/microkernel.h"

#if defined(__AVX512VNNI__)
#include <immintrin.h>

#include <cstring>
#include <utility>

namespace fettle::kernels {
namespace {

template <int kRows, bool kSigned, typename Rows>
struct Tile;
template <int kRows, bool kSigned, size_t... kRow>
struct Tile<kRows, kSigned, std::index_sequence<kRow...>> {
  __m512i low[kRows], high[kRows];

  static __m512i Broadcast(const std::byte* a, [[maybe_unused]] __m512i flip) {
    int32_t bytes;
    std::memcpy(&bytes, a, sizeof(bytes));
    const __m512i x = _mm512_set1_epi32(bytes);
    if constexpr (kSigned) {
      // x + 128 for each byte.
      return _mm512_xor_si512(x, flip);
    } else {
      return x;
    }
  }
  void StepRow(size_t r, const std::byte* a, __m512i b0, __m512i b1, __m512i flip) {
    const __m512i x = Broadcast(a, flip);
    low[r] = _mm512_dpbusd_epi32(low[r], x, b0);
    high[r] = _mm512_dpbusd_epi32(high[r], x, b1);
  }
  void Start() { ((low[kRow] = high[kRow] = _mm512_setzero_si512()), ...); }
  void Step(const std::byte* const* rows, int64_t offset, const std::byte* b, __m512i flip) {
    const __m512i b0 = _mm512_loadu_si512(b), b1 = _mm512_loadu_si512(b + 64);
    (StepRow(kRow, rows[kRow] + offset, b0, b1, flip), ...);
  }
  void Finish(int32_t* c) {
    ((_mm512_store_si512(c + kRow * 32, low[kRow]),
      _mm512_store_si512(c + kRow * 32 + 16, high[kRow])),
     ...);
  }
};

template <int kRows, bool kSigned>
void RunTile(const QuantTileArgs& args) {
  Tile<kRows, kSigned, std::make_index_sequence<kRows>> tile;
  tile.Start();
  const __m512i flip = _mm512_set1_epi32(static_cast<int>(0x80808080U));
  const std::byte* b = args.b;
  for (int64_t t = 0; t < args.taps; ++t) {
    const std::byte* rows[kRows];
    for (int r = 0; r < kRows; ++r) rows[r] = args.a[t * kRows + r] + args.a_offset;
    for (int64_t s = 0; s < args.steps; ++s, b += 128) tile.Step(rows, s * 4, b, flip);
  }
  tile.Finish(args.c);
}

template <size_t... kRow>
QuantKernels MakeTable(std::index_sequence<kRow...>) {
  QuantKernels table;
  table.name = "u8x32";
  // Signed rows need one register more, and 14 rows still fit.
  table.mr = sizeof...(kRow);
  table.nr = 32;
  table.wide = false;
  ((table.tile[kRow + 1] = RunTile<kRow + 1, false>), ...);
  ((table.tile_signed[kRow + 1] = RunTile<kRow + 1, true>), ...);
  return table;
}

}  // namespace

const QuantKernels* QuantKernelsAvx512Vnni() {
  static const QuantKernels table = MakeTable(std::make_index_sequence<14>());
  return &table;
}

}  // namespace fettle::kernels
#else
namespace fettle::kernels {
const QuantKernels* QuantKernelsAvx512Vnni() { return nullptr; }
}  // namespace fettle::kernels
#endif
