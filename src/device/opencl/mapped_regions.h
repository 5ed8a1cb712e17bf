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
  MappedRegions();
  ~MappedRegions();
  /// Bytes [offset, offset + bytes) of `memory`. False where they overlap what is mapped already.
  bool Add(cl_mem memory, int64_t offset, int64_t bytes);
  void Remove(cl_mem memory, int64_t offset, int64_t bytes);
  bool any() const { return count_.load(std::memory_order_acquire) > 0; }
  /// Whether any part of `memory` is mapped.
  bool Holds(cl_mem memory) const;

 private:
  struct Region {
    int64_t begin, end;
  };
  bool Overlaps(cl_mem memory, int64_t begin, int64_t end) const;

  mutable std::mutex mutex_;
  std::multimap<cl_mem, Region> regions_;  // guarded by mutex_
  std::atomic<int> count_ = 0;
};

}  // namespace fettle
