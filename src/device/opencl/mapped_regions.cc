#include "device/opencl/mapped_regions.h"

namespace fettle {

MappedRegions::MappedRegions() = default;
MappedRegions::~MappedRegions() = default;

bool MappedRegions::Add(cl_mem memory, int64_t offset, int64_t bytes) {
  std::lock_guard lock(mutex_);
  if (bytes > 0 && Overlaps(memory, offset, offset + bytes)) return false;
  regions_.emplace(memory, Region{offset, offset + bytes});
  count_.fetch_add(1, std::memory_order_release);
  return true;
}

void MappedRegions::Remove(cl_mem memory, int64_t offset, int64_t bytes) {
  std::lock_guard lock(mutex_);
  const auto [first, last] = regions_.equal_range(memory);
  for (auto at = first; at != last; ++at) {
    if (at->second.begin != offset || at->second.end != offset + bytes) continue;
    regions_.erase(at);
    count_.fetch_sub(1, std::memory_order_release);
    return;
  }
}

bool MappedRegions::Holds(cl_mem memory) const {
  std::lock_guard lock(mutex_);
  return regions_.contains(memory);
}

bool MappedRegions::Overlaps(cl_mem memory, int64_t begin, int64_t end) const {
  const auto [first, last] = regions_.equal_range(memory);
  for (auto at = first; at != last; ++at)
    if (at->second.begin < end && begin < at->second.end) return true;
  return false;
}

}  // namespace fettle
