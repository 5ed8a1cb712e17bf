#include "base/memory_budget.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <limits>

namespace fettle {
namespace {

/// The number in a file of one line; `none` where there is none ("max").
int64_t NumberIn(const char* path, int64_t none) {
  std::FILE* const file = std::fopen(path, "re");
  if (file == nullptr) return none;
  long long number = 0;
  const bool read = std::fscanf(file, "%lld", &number) == 1 && number > 0;
  std::fclose(file);
  return read ? number : none;
}

int64_t MachineBytes() {
  constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  const int64_t pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  const int64_t physical = pages > 0 && page > 0 ? pages * page : kNone;
  return std::min({physical, NumberIn("/sys/fs/cgroup/memory.max", kNone),
                   NumberIn("/sys/fs/cgroup/memory/memory.limit_in_bytes", kNone)});
}

/// What the system can give without taking it from another program: "MemAvailable: N kB" in
/// /proc/meminfo, which counts the pages of files that it would drop, and free swap.
int64_t AvailableBytes() {
  constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  std::FILE* const file = std::fopen("/proc/meminfo", "re");
  if (file == nullptr) return kNone;
  char line[128];
  int64_t available = kNone, swap = 0;
  for (long long kib = 0; std::fgets(line, sizeof line, file) != nullptr;) {
    if (std::sscanf(line, "MemAvailable: %lld kB", &kib) == 1) available = kib * 1024;
    if (std::sscanf(line, "SwapFree: %lld kB", &kib) == 1) swap = kib * 1024;
  }
  std::fclose(file);
  return available == kNone ? kNone : available + swap;
}

/// Counts no owners: the process's budget lives as long as the process.
std::shared_ptr<MemoryBudget>& InForce() {
  thread_local std::shared_ptr<MemoryBudget> budget(std::shared_ptr<void>(),
                                                    &MemoryBudget::Process());
  return budget;
}

}  // namespace

MemoryBudget& MemoryBudget::Process() {
  static MemoryBudget* const budget = [] {
    auto* const made = new MemoryBudget(MachineBytes() / 5 * 4);
    made->is_default_ = true;
    return made;
  }();
  return *budget;
}

const std::shared_ptr<MemoryBudget>& MemoryBudget::Current() { return InForce(); }

const std::shared_ptr<MemoryBudget>& MemoryBudget::Unbounded() {
  static const auto* const budget = new std::shared_ptr<MemoryBudget>(
      std::make_shared<MemoryBudget>(std::numeric_limits<int64_t>::max()));
  return *budget;
}

const std::shared_ptr<MemoryBudget>& MemoryBudget::OutsideLoops() {
  const std::shared_ptr<MemoryBudget>& budget = InForce();
  return budget->outer_ != nullptr ? budget->outer_ : budget;
}

std::shared_ptr<MemoryBudget> MemoryBudget::ForLoop() {
  const std::shared_ptr<MemoryBudget>& budget = InForce();
  if (!budget->is_default_.load(std::memory_order_relaxed)) return nullptr;
  constexpr int64_t kMost = int64_t{8} << 30;
  return std::make_shared<MemoryBudget>(std::min(budget->limit() / 4, kMost), budget);
}

Status MemoryBudget::Take(int64_t bytes) {
  RETURN_IF_ERROR(CheckMachine(bytes));
  const int64_t before = used_.fetch_add(bytes, std::memory_order_relaxed);
  const Status status = bytes > limit() - before ? Refusal(bytes, before)
                        : outer_ != nullptr      ? outer_->Take(bytes)
                                                 : OkStatus();
  if (!status.ok()) used_.fetch_sub(bytes, std::memory_order_relaxed);
  return status;
}

void MemoryBudget::GiveBack(int64_t bytes) {
  used_.fetch_sub(bytes, std::memory_order_relaxed);
  if (outer_ != nullptr) outer_->GiveBack(bytes);
}

Status MemoryBudget::Check(int64_t bytes) const {
  if (bytes > limit() - used()) return Refusal(bytes, used());
  return outer_ != nullptr ? outer_->Check(bytes) : CheckMachine(bytes);
}

Status MemoryBudget::CheckAlone(int64_t bytes) const {
  return bytes <= limit() ? OkStatus() : Refusal(bytes, 0);
}

Status MemoryBudget::CheckMachine(int64_t bytes) const {
  // Smaller ones are many, and come out of what the process has.
  constexpr int64_t kLarge = int64_t{256} << 20;
  if (bytes < kLarge || !is_default_.load(std::memory_order_relaxed)) return OkStatus();
  const int64_t available = AvailableBytes();
  if (bytes <= available) return OkStatus();
  return Error(StatusCode::kOutOfMemory,
               "out of memory: {} bytes are asked for, and this machine has {} left", bytes,
               available);
}

Status MemoryBudget::Refusal(int64_t bytes, int64_t used) const {
  return Error(StatusCode::kOutOfMemory,
               "out of memory: {} bytes are asked for, {} are in use, and the limit is {}{} "
               "(--max-memory or max_memory sets another)",
               bytes, used, limit(), outer_ != nullptr ? " for what one loop makes" : "");
}

MemoryScope::MemoryScope(std::shared_ptr<MemoryBudget> budget) : changes_(budget != nullptr) {
  if (changes_) before_ = std::exchange(InForce(), std::move(budget));
}

MemoryScope::~MemoryScope() {
  if (changes_) InForce() = std::move(before_);
}

}  // namespace fettle
