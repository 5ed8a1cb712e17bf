// Chains of an instruction in registers, for files that are compiled for one instruction set.
#pragma once

#include <cstdint>
#include <utility>

namespace fettle::kernels {

/// Hides from the compiler what a register holds, by no instruction: nothing is folded, merged, or
/// taken out of a loop.
template <typename V>
[[gnu::always_inline]] inline void Hide(V& v) {
#if defined(__x86_64__)
  __asm__("" : "+v"(v));
#else
  __asm__("" : "+w"(v));
#endif
}

/// As many chains as hide the latency of two pipes at up to seven cycles (vdpbf16ps takes six on
/// Zen 5), for instruction sets of 32 registers. `start(i)` begins chain i, `next` is the
/// instruction, `is_right(x, i)` judges the end of a chain. Instructions run, 0 where wrong.
template <typename Start, typename Next, typename IsRight>
[[gnu::always_inline]] inline int64_t ManyChains(int64_t rounds, Start start, Next next,
                                                 IsRight is_right) {
  const auto run = [&]<int... kI>(std::integer_sequence<int, kI...>) {
    decltype(start(0)) x[] = {start(kI)...};
    for (int64_t r = 0; r < rounds; ++r) ((x[kI] = next(x[kI]), Hide(x[kI])), ...);
    return (is_right(x[kI], kI) && ...) ? static_cast<int64_t>(sizeof...(kI)) * rounds : 0;
  };
  return run(std::make_integer_sequence<int, 14>());
}

/// Instructions of one chain between two jumps: a loop of one is as slow as the core begins rounds,
/// which is every other cycle where another thread shares it, and favours some ports.
inline constexpr int64_t kLinksPerRound = 16;

/// The same with one chain.
template <typename Start, typename Next, typename IsRight>
[[gnu::always_inline]] inline int64_t OneChain(int64_t rounds, Start start, Next next,
                                               IsRight is_right) {
  auto x = start(0);
  int64_t r = 0;
  for (; r + kLinksPerRound <= rounds; r += kLinksPerRound) {
#pragma GCC unroll 16
    for (int64_t i = 0; i < kLinksPerRound; ++i) x = next(x), Hide(x);
  }
  for (; r < rounds; ++r) x = next(x), Hide(x);
  return is_right(x, 0) ? rounds : 0;
}

}  // namespace fettle::kernels
