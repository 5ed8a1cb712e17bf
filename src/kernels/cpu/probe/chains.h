// Chains of an instruction in registers, for files that are compiled for one instruction set.
#pragma once

#include <cstdint>

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

/// Ten chains hide the latency of two pipes at up to five cycles. `start(i)` begins chain i, `next`
/// is the instruction, `is_right(x, i)` judges the end of a chain. Instructions run, 0 where wrong.
template <typename Start, typename Next, typename IsRight>
[[gnu::always_inline]] inline int64_t TenChains(int64_t rounds, Start start, Next next,
                                                IsRight is_right) {
  auto x0 = start(0), x1 = start(1), x2 = start(2), x3 = start(3), x4 = start(4);
  auto x5 = start(5), x6 = start(6), x7 = start(7), x8 = start(8), x9 = start(9);
  for (int64_t r = 0; r < rounds; ++r) {
    x0 = next(x0), Hide(x0), x1 = next(x1), Hide(x1), x2 = next(x2), Hide(x2);
    x3 = next(x3), Hide(x3), x4 = next(x4), Hide(x4), x5 = next(x5), Hide(x5);
    x6 = next(x6), Hide(x6), x7 = next(x7), Hide(x7), x8 = next(x8), Hide(x8);
    x9 = next(x9), Hide(x9);
  }
  const bool first = is_right(x0, 0) && is_right(x1, 1) && is_right(x2, 2) && is_right(x3, 3);
  const bool last = is_right(x4, 4) && is_right(x5, 5) && is_right(x6, 6) && is_right(x7, 7) &&
                    is_right(x8, 8) && is_right(x9, 9);
  return first && last ? 10 * rounds : 0;
}

/// The same with one chain.
template <typename Start, typename Next, typename IsRight>
[[gnu::always_inline]] inline int64_t OneChain(int64_t rounds, Start start, Next next,
                                               IsRight is_right) {
  auto x = start(0);
  for (int64_t r = 0; r < rounds; ++r) x = next(x), Hide(x);
  return is_right(x, 0) ? rounds : 0;
}

}  // namespace fettle::kernels
