#include "runtime/package/sections.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

#include "base/hash.h"

namespace fettle::runtime::package {

Sections::Sections(std::span<const std::byte> file, std::shared_ptr<const void> owner,
                   std::span<const SectionRange> ranges)
    : owner_(std::move(owner)) {
  for (const SectionRange& range : ranges)
    sections_.emplace_back(file.subspan(range.offset, range.bytes), range);
}

size_t Sections::FirstDamaged() const {
  // A thread is worth some megabytes; more than a few wait for memory.
  constexpr size_t kBytesPerThread = size_t{8} << 20, kMostThreads = 4;
  size_t bytes = 0;
  for (const Section& section : sections_) bytes += section.bytes().size();
  std::atomic<size_t> next = 0, first = sections_.size();
  const auto work = [&] {
    for (size_t i = next++; i < sections_.size(); i = next++) {
      if (HashMapped(sections_[i].bytes()) == sections_[i].range().hash) continue;
      for (size_t known = first; i < known && !first.compare_exchange_weak(known, i);) continue;
    }
  };
  const size_t cores = std::max(std::thread::hardware_concurrency(), 1u);
  std::vector<std::thread> others;
  try {
    for (size_t i = 1; i < std::min({bytes / kBytesPerThread, cores, kMostThreads}); ++i)
      others.emplace_back(work);
  } catch (const std::system_error&) {  // fewer, then
  }
  work();
  for (std::thread& other : others) other.join();
  return first;
}

Status Sections::Check() const {
  const size_t damaged = FirstDamaged();
  if (damaged == sections_.size()) return OkStatus();
  const SectionRange& range = sections_[damaged].range();
  return Error(StatusCode::kCorrupt,
               "the package is damaged: {} bytes at offset {} have changed since they were written",
               range.bytes, range.offset);
}

std::shared_ptr<const ContentGuard> Sections::Guard(const std::shared_ptr<const Sections>& sections,
                                                    size_t index) {
  return {sections, &sections->sections_[index]};
}

}  // namespace fettle::runtime::package
