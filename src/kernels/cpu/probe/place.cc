// Where the CPU's ceilings are measured: cores that start together, memory, the clock.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "base/clock.h"
#include "kernels/cpu/probe/rows.h"
#include "tensor/tensor.h"

namespace fettle::kernels {
namespace {

constexpr int64_t kLeastMemory = int64_t{32} << 20;
/// Bounds are asked for with every network, ceilings to be shown once.
constexpr int64_t kMostForBounds = int64_t{64} << 20, kMostMemory = int64_t{1} << 30;
/// Of the machine's memory, taken twice.
constexpr int64_t kShareOfMemory = 16;
/// STREAM's rule: each array of a copy four times the last cache level, for of less part is found
/// there again. Bounds may be too fast, and have to be measured soon.
constexpr int64_t kTimesL3 = 8, kTimesL3ForBounds = 2;
/// Where the pool has lent its workers elsewhere, nobody waits for them longer.
constexpr int64_t kLongestWaitNs = 20'000'000;

int64_t MemoryBytes(const CpuInfo& info, bool for_bounds) {
  const int64_t pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  int64_t most = for_bounds ? kMostForBounds : kMostMemory;
  if (pages > 0 && page > 0) most = std::min(most, pages / kShareOfMemory * page);
  const int64_t times = for_bounds ? kTimesL3ForBounds : kTimesL3;
  int64_t bytes = kLeastMemory;
  while (bytes < times * info.l3_bytes && bytes * 2 <= most) bytes *= 2;
  return bytes;
}

}  // namespace

ProbePlace::ProbePlace(const CpuDevice& device, const ProbeRequest& request)
    : device_(device),
      for_bounds_(request.for_bounds),
      cores_(std::clamp(request.threads, 1, device.pool().threads())),
      memory_bytes_(MemoryBytes(device.info(), request.for_bounds)) {}

std::vector<int> ProbePlace::core_counts() const {
  if (for_bounds_ || cores_ == 1) return {1};
  return {1, cores_};
}

uint32_t* ProbePlace::Block::Take(int64_t least) {
  if (bytes < least) {
    memory = nullptr;
    bytes = 0;
    Result<std::shared_ptr<std::byte>> taken = AllocateHost(least);
    if (!taken.ok()) return nullptr;
    memory = *taken;
    bytes = least;
    std::fill_n(reinterpret_cast<uint32_t*>(memory.get()), bytes / 4, 1U);
  }
  return reinterpret_cast<uint32_t*>(memory.get());
}

double ProbePlace::TogetherNs(int cores, FunctionRef<void(int lane)> work) const {
  if (cores == 1) {
    const int64_t begin = NowNs();
    work(0);
    return static_cast<double>(std::max<int64_t>(NowNs() - begin, 1));
  }
  std::atomic<int> there = 0;
  std::atomic<int64_t> begin = 0, end = 0;
  pool().ParallelFor(cores, cores, [&](int64_t task, int) {
    if (there.fetch_add(1) + 1 == cores) begin = NowNs();
    const int64_t until = NowNs() + kLongestWaitNs;
    while (begin == 0 && NowNs() < until) {
    }
    int64_t none = 0;
    begin.compare_exchange_strong(none, NowNs());
    work(static_cast<int>(task));
    const int64_t now = NowNs();
    int64_t latest = end;
    while (latest < now && !end.compare_exchange_weak(latest, now)) {
    }
  });
  return static_cast<double>(std::max<int64_t>(end - begin, 1));
}

double CycleNs() {
  constexpr int64_t kAdditions = 100'000;
  const int64_t begin = NowNs();
  int64_t x = 0, one = 1;
  __asm__("" : "+r"(one));
  for (int64_t i = 0; i < kAdditions / 10; ++i) {
    // Of registers: newer processors add constants for nothing.
    for (int k = 0; k < 10; ++k) {
      x += one;
      __asm__("" : "+r"(x));
    }
  }
  __asm__ volatile("" : : "r"(x));
  return static_cast<double>(NowNs() - begin) / static_cast<double>(kAdditions);
}

CeilingName OfCores(CeilingName name, int cores) {
  name.column = cores == 1 ? "1 core" : fmt::format("{} cores", cores);
  if (cores > 1) name.name += ", " + name.column;
  return name;
}

}  // namespace fettle::kernels
