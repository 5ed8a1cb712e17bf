// vpopcntq, and the inner loop of products of bits (cpu/binary/tile_avx512vpopcntdq.cc).
#include "kernels/cpu/probe/loops.h"

#if defined(__AVX512VPOPCNTDQ__)
#include <immintrin.h>

#include "kernels/cpu/probe/chains.h"
#endif

namespace fettle::kernels {

#if defined(__AVX512VPOPCNTDQ__)
namespace {

/// 10 -> 2 -> 1 -> 1; 0 stays.
template <typename Chains>
inline int64_t RunPopcount(int64_t rounds, Chains chains) {
  return chains(
      rounds, [](int i) { return _mm512_set1_epi64(i); },
      [](__m512i x) { return _mm512_popcnt_epi64(x); },
      [&](__m512i x, int i) {
        return rounds < 3 || _mm512_cmpneq_epi64_mask(x, _mm512_set1_epi64(i == 0 ? 0 : 1)) == 0;
      });
}

/// The 8 bits in which the two words differ, more in each sum.
template <typename Chains>
inline int64_t RunBitDot(int64_t rounds, Chains chains) {
  const __m512i weights = _mm512_set1_epi64(0x00ff00);
  __m512i pixel = _mm512_set1_epi64(0x0ff000);
  return chains(
      rounds, [](int i) { return _mm512_set1_epi64(i); },
      [&](__m512i x) {
        Hide(pixel);
        return _mm512_add_epi64(x, _mm512_popcnt_epi64(_mm512_xor_si512(pixel, weights)));
      },
      [&](__m512i x, int i) {
        return _mm512_cmpneq_epi64_mask(x, _mm512_set1_epi64(i + 8 * rounds)) == 0;
      });
}

int64_t IndependentPopcount(int64_t rounds) {
  return RunPopcount(rounds, [](auto... all) { return ManyChains(all...); });
}
int64_t DependentPopcount(int64_t rounds) {
  return RunPopcount(rounds, [](auto... all) { return OneChain(all...); });
}
int64_t IndependentBitDot(int64_t rounds) {
  return RunBitDot(rounds, [](auto... all) { return ManyChains(all...); });
}

constexpr RegisterLoop kLoops[] = {{.instruction = "popcount u64",
                                    .isa = "avx512vpopcntdq",
                                    .independent = IndependentPopcount,
                                    .dependent = DependentPopcount},
                                   {.instruction = "xor, popcount, add",
                                    .isa = "avx512vpopcntdq",
                                    .independent = IndependentBitDot,
                                    .ceiling = "bit dot",
                                    .operations = 2 * 512,
                                    .is_one = false}};

}  // namespace

std::span<const RegisterLoop> LoopsAvx512Vpopcntdq() { return kLoops; }
#else
std::span<const RegisterLoop> LoopsAvx512Vpopcntdq() { return {}; }
#endif

}  // namespace fettle::kernels
