// The one clock that timings use.
#pragma once

#include <chrono>
#include <cstdint>

namespace fettle {

/// Monotonic time in nanoseconds.
inline int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace fettle
