// compiled: unfused
// i16 times i16 with vpmaddwd, which cannot saturate on bytes with their zero points taken off
// (vpmaddubsw could).
#include "kernels/cpu/quantised/microkernel.h"

#if defined(__AVX2__)
#include "kernels/cpu/quantised_avx2/column_tile_avx2.h"

namespace fettle::kernels {
namespace {

struct WideProducts {
  [[gnu::always_inline]] static __m256i Add(__m256i sums, __m256i x, __m256i b) {
    const __m256i products = _mm256_madd_epi16(x, b);
    // In place: else g++ has more live at once than there are registers, and keeps sums in memory.
    asm("vpaddd %1, %0, %0" : "+x"(sums) : "x"(products));
    return sums;
  }
};

}  // namespace

const QuantKernels* QuantKernelsAvx2(int64_t columns) {
  static constexpr QuantKernels broad =
      MakeColumns<WideProducts, 16>("i16x16", std::make_index_sequence<5>());
  static constexpr QuantKernels narrow =
      MakeColumns<WideProducts, 8>("i16x8", std::make_index_sequence<5>());
  const int64_t vectors = (columns + 7) / 8;
  return vectors == 1 || vectors == 3 ? &narrow : &broad;
}

}  // namespace fettle::kernels
#else
namespace fettle::kernels {
const QuantKernels* QuantKernelsAvx2(int64_t) { return nullptr; }
}  // namespace fettle::kernels
#endif
