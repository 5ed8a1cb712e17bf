// Choice of the set, and the portable one: plain loops that compilers turn into multiply-add pairs.
#include "kernels/cpu/quantised/microkernel.h"

#include <cstring>
#include <utility>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/simd/targets.h"

namespace fettle::kernels {
namespace {

constexpr int kColumns = 8;

template <int kRows>
void RunTile(const QuantTileArgs& args) {
  int32_t sum[kRows][kColumns] = {};
  const std::byte* b = args.b;
  for (int64_t t = 0; t < args.taps; ++t) {
    for (int64_t s = 0; s < args.steps; ++s, b += kColumns * 4) {
      int16_t columns[kColumns * 2];
      std::memcpy(columns, b, sizeof(columns));
      for (int r = 0; r < kRows; ++r) {
        int16_t pair[2];
        std::memcpy(pair, args.a[t * kRows + r] + args.a_offset + s * 4, sizeof(pair));
        for (int n = 0; n < kColumns; ++n)
          sum[r][n] += pair[0] * columns[2 * n] + pair[1] * columns[2 * n + 1];
      }
    }
  }
  std::memcpy(args.c, sum, sizeof(sum));
}

template <size_t... kRow>
QuantKernels MakeTable(std::index_sequence<kRow...>) {
  QuantKernels table;
  table.name = "i16x8";
  table.mr = sizeof...(kRow);
  table.nr = kColumns;
  ((table.tile[kRow + 1] = RunTile<kRow + 1>), ...);
  return table;
}

}  // namespace

bool RunsAvx512Vnni() { return GetCpuInfo().avx512_vnni && RunsSimdTarget("AVX3"); }

bool RunsAvx2() { return GetCpuInfo().avx2 && GetCpuInfo().fma && RunsSimdTarget("AVX2"); }

bool RunsAvxVnni() { return RunsAvx2() && GetCpuInfo().avx_vnni && !GetCpuInfo().avx512_vnni; }

const QuantKernels& GetQuantKernels(int64_t columns) {
  static const QuantKernels portable = MakeTable(std::make_index_sequence<4>());
  // The function itself is compiled for AVX-512: other CPUs must not enter it.
  if (RunsAvx512Vnni()) {
    if (const QuantKernels* vnni = QuantKernelsAvx512Vnni(columns)) return *vnni;
  }
  if (!RunsAvx2()) return portable;
  if (RunsAvxVnni() && QuantKernelsAvxVnni() != nullptr) return *QuantKernelsAvxVnni();
  const QuantKernels* avx2 = QuantKernelsAvx2(columns);
  return avx2 != nullptr ? *avx2 : portable;
}

const QuantKernels* GetNarrowKernels(int64_t columns) {
  const bool is_avx2 = RunsAvx2() && !RunsAvx512Vnni() && !RunsAvxVnni();
  return is_avx2 ? NarrowKernelsAvx2(columns) : nullptr;
}

const QuantKernels* GetBitKernels() { return RunsAvx512Vnni() ? BitKernelsAvx512Vnni() : nullptr; }

}  // namespace fettle::kernels
