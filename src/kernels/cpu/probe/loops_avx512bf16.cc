// vdpbf16ps: 32 products of bf16, added by twos.
#include "kernels/cpu/probe/loops.h"

#if defined(__AVX512BF16__)
#include <immintrin.h>

#include "kernels/cpu/probe/chains.h"
#endif

namespace fettle::kernels {

#if defined(__AVX512BF16__)
namespace {

/// 1 * 1 + 1 * 1 more in each sum: exact in f32.
template <typename Chains>
inline int64_t RunBf16Dot(int64_t rounds, Chains chains) {
  const auto ones = reinterpret_cast<__m512bh>(_mm512_set1_epi16(0x3f80));
  return chains(
      rounds, [](int i) { return _mm512_set1_ps(static_cast<float>(i)); },
      [&](__m512 x) { return _mm512_dpbf16_ps(x, ones, ones); },
      [&](__m512 x, int i) {
        const __m512 sum = _mm512_set1_ps(static_cast<float>(i + 2 * rounds));
        return _mm512_cmp_ps_mask(x, sum, _CMP_NEQ_UQ) == 0;
      });
}

int64_t IndependentBf16(int64_t rounds) {
  return RunBf16Dot(rounds, [](auto... all) { return ManyChains(all...); });
}
int64_t DependentBf16(int64_t rounds) {
  return RunBf16Dot(rounds, [](auto... all) { return OneChain(all...); });
}

constexpr RegisterLoop kLoops[] = {{.instruction = "dot bf16",
                                    .isa = "avx512bf16",
                                    .independent = IndependentBf16,
                                    .dependent = DependentBf16,
                                    .ceiling = "bf16 dot",
                                    .operations = 2 * 32}};

}  // namespace

std::span<const RegisterLoop> LoopsAvx512Bf16() { return kLoops; }
#else
std::span<const RegisterLoop> LoopsAvx512Bf16() { return {}; }
#endif

}  // namespace fettle::kernels
