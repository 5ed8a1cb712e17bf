// When work has to end: at a time, or as soon as somebody says so.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"

namespace fettle {

struct Deadline {
  int64_t ns = INT64_MAX;  // on the clock of NowNs
  /// Set from any thread; null: nobody will say so.
  const std::atomic<bool>* cancelled = nullptr;

  bool Passed() const {
    if (cancelled != nullptr && cancelled->load(std::memory_order_relaxed)) return true;
    return NowNs() >= ns;
  }
};

}  // namespace fettle
