// Waiting for another core without giving up one's own.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace fettle {

/// How long a lane without work looks for more before it sleeps: longer than the gap between two
/// operators of a network, and so short that an idle process uses almost no CPU time.
inline constexpr int64_t kSpinNs = 40'000;
/// Pauses between two looks at the clock.
inline constexpr int kPausesPerClock = 16;

inline void Pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Spins until `done` or the time is over; says whether it was done.
template <typename Done>
bool SpinUntil(Done done) {
  const int64_t deadline = NowNs() + kSpinNs;
  do {
    for (int i = 0; i < kPausesPerClock; ++i) {
      if (done()) return true;
      Pause();
    }
  } while (NowNs() < deadline);
  return false;
}

}  // namespace fettle
