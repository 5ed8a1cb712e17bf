// compiled: unfused
// i16 times i16 with vpmaddwd, which cannot saturate on bytes with their zero points taken off
// (vpmaddubsw could).
#include "kernels/cpu/quantised/microkernel.h"

#if defined(__AVX2__)
#include "kernels/cpu/quantised_avx2/column_tile_avx2.h"

namespace fettle::kernels {
namespace {

struct WideProducts : WholeVectors {
  [[gnu::always_inline]] static __m256i Add(__m256i sums, __m256i x, __m256i b) {
    const __m256i products = _mm256_madd_epi16(x, b);
    // In place: else g++ has more live at once than there are registers, and keeps sums in memory.
    asm("vpaddd %1, %0, %0" : "+x"(sums) : "x"(products));
    return sums;
  }
};

/// B in bytes, which become words as they are read.
struct NarrowProducts : WideProducts {
  static constexpr int64_t kVectorBytes = 16;
  [[gnu::always_inline]] static __m256i LoadB(const std::byte* from) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
};

/// Whether 16 columns at once would leave a quarter or more of them idle.
bool TakesEight(int64_t columns) {
  const int64_t vectors = (columns + 7) / 8;
  return vectors == 1 || vectors == 3;
}

constexpr QuantKernels MakeNarrow(QuantKernels kernels) {
  kernels.narrow = true;
  return kernels;
}

}  // namespace

const QuantKernels* QuantKernelsAvx2(int64_t columns) {
  static constexpr QuantKernels sixteen =
      MakeColumns<WideProducts, 16>("i16x16", std::make_index_sequence<5>());
  static constexpr QuantKernels eight =
      MakeColumns<WideProducts, 8>("i16x8", std::make_index_sequence<5>());
  return TakesEight(columns) ? &eight : &sixteen;
}

const QuantKernels* NarrowKernelsAvx2(int64_t columns) {
  static constexpr QuantKernels sixteen =
      MakeNarrow(MakeColumns<NarrowProducts, 16>("i8x16", std::make_index_sequence<4>()));
  return TakesEight(columns) ? nullptr : &sixteen;
}

}  // namespace fettle::kernels
#else
namespace fettle::kernels {
const QuantKernels* QuantKernelsAvx2(int64_t) { return nullptr; }
const QuantKernels* NarrowKernelsAvx2(int64_t) { return nullptr; }
}  // namespace fettle::kernels
#endif
