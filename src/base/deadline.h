// The end of some work: a time, or a flag that somebody sets.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"

namespace fettle {

struct Deadline {
  int64_t ns = INT64_MAX;  // on the clock of NowNs
  /// May be set from any thread; null: there is no flag.
  const std::atomic<bool>* cancelled = nullptr;

  bool Passed() const {
    if (cancelled != nullptr && cancelled->load(std::memory_order_relaxed)) return true;
    return NowNs() >= ns;
  }
};

}  // namespace fettle
