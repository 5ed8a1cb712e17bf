// vpdpbusd: 64 products of bytes, added by fours.
#include "kernels/cpu/probe/loops.h"

#if defined(__AVX512VNNI__)
#include <immintrin.h>

#include "kernels/cpu/probe/chains.h"
#endif

namespace fettle::kernels {

#if defined(__AVX512VNNI__)
namespace {

/// 4 * 3 * -2 more in each sum.
template <typename Chains>
inline int64_t RunDot(int64_t rounds, Chains chains) {
  const __m512i a = _mm512_set1_epi8(3), b = _mm512_set1_epi8(-2);
  return chains(
      rounds, [](int i) { return _mm512_set1_epi32(i); },
      [&](__m512i x) { return _mm512_dpbusd_epi32(x, a, b); },
      [&](__m512i x, int i) {
        return _mm512_cmpneq_epi32_mask(
                   x, _mm512_set1_epi32(i - 24 * static_cast<int32_t>(rounds))) == 0;
      });
}

/// The same of 256 bits.
template <typename Chains>
inline int64_t RunHalfDot(int64_t rounds, Chains chains) {
  const __m256i a = _mm256_set1_epi8(3), b = _mm256_set1_epi8(-2);
  return chains(
      rounds, [](int i) { return _mm256_set1_epi32(i); },
      [&](__m256i x) { return _mm256_dpbusd_epi32(x, a, b); },
      [&](__m256i x, int i) {
        return _mm256_cmpneq_epi32_mask(
                   x, _mm256_set1_epi32(i - 24 * static_cast<int32_t>(rounds))) == 0;
      });
}

int64_t Independent(int64_t rounds) {
  return RunDot(rounds, [](auto... all) { return ManyChains(all...); });
}
int64_t Dependent(int64_t rounds) {
  return RunDot(rounds, [](auto... all) { return OneChain(all...); });
}

int64_t IndependentHalves(int64_t rounds) {
  return RunHalfDot(rounds, [](auto... all) { return ManyChains(all...); });
}
int64_t DependentHalves(int64_t rounds) {
  return RunHalfDot(rounds, [](auto... all) { return OneChain(all...); });
}

constexpr RegisterLoop kLoops[] = {{.instruction = "dot u8",
                                    .isa = "avx512vnni",
                                    .independent = Independent,
                                    .dependent = Dependent,
                                    .ceiling = "int8 dot",
                                    .operations = 2 * 64},
                                   {.instruction = "dot u8 of 256 bits",
                                    .isa = "avx512vnni",
                                    .independent = IndependentHalves,
                                    .dependent = DependentHalves}};

}  // namespace

std::span<const RegisterLoop> LoopsAvx512Vnni() { return kLoops; }
#else
std::span<const RegisterLoop> LoopsAvx512Vnni() { return {}; }
#endif

}  // namespace fettle::kernels
