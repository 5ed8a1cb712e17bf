// vfmadd213ph: 32 multiply-adds of f16.
#include "kernels/cpu/probe/loops.h"

#if defined(__AVX512FP16__)
#include <immintrin.h>

#include "kernels/cpu/probe/chains.h"
#endif

namespace fettle::kernels {

#if defined(__AVX512FP16__)
namespace {

/// x becomes 1 - x, and x again.
template <typename Chains>
inline int64_t RunFp16Fma(int64_t rounds, Chains chains) {
  __m512h one = _mm512_set1_ph(static_cast<_Float16>(1.0F));
  __m512h minus = _mm512_set1_ph(static_cast<_Float16>(-1.0F));
  Hide(one);
  Hide(minus);
  const auto start = [](int i) { return _mm512_set1_ph(static_cast<_Float16>(i)); };
  return chains(
      rounds, start, [&](__m512h x) { return _mm512_fmadd_ph(x, minus, one); },
      [&](__m512h x, int i) {
        const __m512h end = start(rounds % 2 == 1 ? 1 - i : i);
        return _mm512_cmp_ph_mask(x, end, _CMP_NEQ_UQ) == 0;
      });
}

int64_t IndependentFp16(int64_t rounds) {
  return RunFp16Fma(rounds, [](auto... all) { return ManyChains(all...); });
}
int64_t DependentFp16(int64_t rounds) {
  return RunFp16Fma(rounds, [](auto... all) { return OneChain(all...); });
}

constexpr RegisterLoop kLoops[] = {{.instruction = "fma f16",
                                    .isa = "avx512fp16",
                                    .independent = IndependentFp16,
                                    .dependent = DependentFp16,
                                    .ceiling = "fp16 fma",
                                    .operations = 2 * 32}};

}  // namespace

std::span<const RegisterLoop> LoopsAvx512Fp16() { return kLoops; }
#else
std::span<const RegisterLoop> LoopsAvx512Fp16() { return {}; }
#endif

}  // namespace fettle::kernels
