// Which parts of a device's memory the host has mapped at present.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>

#include "device/opencl/api.h"

namespace fettle {

/// Thread-safe; asking costs one load while nothing is mapped.
class MappedRegions {
 public:
  /// Bytes [offset, offset + bytes) of `memory`. False where they overlap what is mapped already.
  bool Add(cl_mem memory, int64_t offset, int64_t bytes) {
    std::lock_guard lock(mutex_);
    if (bytes > 0 && Overlaps(memory, offset, offset + bytes)) return false;
    regions_.emplace(memory, Region{offset, offset + bytes});
    count_.fetch_add(1, std::memory_order_release);
    return true;
  }
  void Remove(cl_mem memory, int64_t offset, int64_t bytes) {
    std::lock_guard lock(mutex_);
    const auto [first, last] = regions_.equal_range(memory);
    for (auto at = first; at != last; ++at) {
      if (at->second.begin != offset || at->second.end != offset + bytes) continue;
      regions_.erase(at);
      count_.fetch_sub(1, std::memory_order_release);
      return;
    }
  }
  bool any() const { return count_.load(std::memory_order_acquire) > 0; }
  /// Whether any part of `memory` is mapped.
  bool Holds(cl_mem memory) const {
    std::lock_guard lock(mutex_);
    return regions_.contains(memory);
  }

 private:
  struct Region {
    int64_t begin, end;
  };
  bool Overlaps(cl_mem memory, int64_t begin, int64_t end) const {
    const auto [first, last] = regions_.equal_range(memory);
    for (auto at = first; at != last; ++at)
      if (at->second.begin < end && begin < at->second.end) return true;
    return false;
  }

  mutable std::mutex mutex_;
  std::multimap<cl_mem, Region> regions_;  // guarded by mutex_
  std::atomic<int> count_ = 0;
};

}  // namespace fettle
