// Prefetches memory that is read soon.
#pragma once

#include <cstdint>

namespace fettle::kernels {

/// Prefetches memory that a loop reads in order, kBytes of which it reads at `at`: as much
/// kFarAhead bytes further on into the second-level cache, and kNearAhead bytes further on into the
/// first. Few lines can be on their way to the first-level cache at once (16 on Intel's cores), too
/// few for the latency of memory, and the processor itself does not prefetch beyond a page. The
/// prefetched memory need not be readable.
inline constexpr int64_t kFarAhead = 16384, kNearAhead = 1536;

template <int64_t kBytes>
[[gnu::always_inline]] inline void AskAhead(const void* at) {
  const char* from = static_cast<const char*>(at);
  for (int64_t line = 0; line < kBytes; line += 64) {
    __builtin_prefetch(from + kFarAhead + line, 0, 2);
    __builtin_prefetch(from + kNearAhead + line, 0, 3);
  }
}

}  // namespace fettle::kernels
