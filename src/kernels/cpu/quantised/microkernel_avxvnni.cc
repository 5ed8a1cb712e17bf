// compiled: unfused
// u8 times i8 with vpdpbusd of 256 bits (AVX-VNNI): 32 products an instruction, summed in i32
// without saturation. For CPUs that have it and no AVX-512.
#include "kernels/cpu/quantised/microkernel.h"

#if defined(__AVXVNNI__)
#include "kernels/cpu/quantised_avx2/column_tile_avx2.h"

namespace fettle::kernels {
namespace {

struct DotProducts : WholeVectors {
  [[gnu::always_inline]] static __m256i Add(__m256i sums, __m256i x, __m256i b) {
    return _mm256_dpbusd_avx_epi32(sums, x, b);
  }
};

}  // namespace

const QuantKernels* QuantKernelsAvxVnni() {
  static constexpr QuantKernels table = [] {
    // Twelve sums hide the latency of six cycles.
    auto table = MakeColumns<DotProducts, 16>("u8x16", std::make_index_sequence<6>());
    table.wide = false;
    return table;
  }();
  return &table;
}

}  // namespace fettle::kernels
#else
namespace fettle::kernels {
const QuantKernels* QuantKernelsAvxVnni() { return nullptr; }
}  // namespace fettle::kernels
#endif
