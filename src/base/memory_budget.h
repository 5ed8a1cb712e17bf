// Limits how much host memory tensors take together: a model or an input of a few bytes can ask for
// any amount.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/status.h"

namespace fettle {

/// Bytes in use, and the most that may be. Thread-safe.
class MemoryBudget {
 public:
  /// `outer`: a budget in which the same bytes count too, and must fit; null for none.
  explicit MemoryBudget(int64_t limit, std::shared_ptr<MemoryBudget> outer = nullptr)
      : limit_(limit), outer_(std::move(outer)) {}

  /// Counts `bytes` more. Fails with kOutOfMemory, before anything is allocated, where they would
  /// pass the limit.
  Status Take(int64_t bytes);
  void GiveBack(int64_t bytes);
  /// Fails as Take does but counts nothing: for memory that another allocator counts, and for the
  /// sum of bytes that will be taken in parts.
  Status Check(int64_t bytes) const;
  /// Fails where `bytes` alone exceed the limit; bytes in use do not matter, as these may be among
  /// them.
  Status CheckAlone(int64_t bytes) const;
  void set_limit(int64_t limit) {
    limit_.store(limit, std::memory_order_relaxed);
    is_default_.store(false, std::memory_order_relaxed);
  }
  int64_t limit() const { return limit_.load(std::memory_order_relaxed); }
  int64_t used() const { return used_.load(std::memory_order_relaxed); }

  /// The budget of the whole process, in force where no scope is: four fifths of the machine's
  /// memory, or of its control group's, until set_limit. Until then large blocks must also fit in
  /// the machine's free memory.
  static MemoryBudget& Process();
  /// The one in force on the calling thread.
  static const std::shared_ptr<MemoryBudget>& Current();
  /// For one run of a loop: the smaller of a quarter of the process's limit and 8 GiB, because a
  /// loop of a few bytes may double its values until it exceeds a limit. Null where somebody set a
  /// limit, which also holds for loops, or where a loop's budget is in force.
  static std::shared_ptr<MemoryBudget> ForLoop();
  /// Refuses nothing: for the few numbers that importers write into graphs beside a file's weights.
  static const std::shared_ptr<MemoryBudget>& Unbounded();
  /// The one in force on the calling thread but for loops: of weights, which no iteration adds to.
  static const std::shared_ptr<MemoryBudget>& OutsideLoops();

 private:
  Status Refusal(int64_t bytes, int64_t used) const;
  /// Fails where the machine has less than `bytes` free and nobody has set a limit.
  Status CheckMachine(int64_t bytes) const;

  std::atomic<int64_t> limit_;
  const std::shared_ptr<MemoryBudget> outer_;
  std::atomic<bool> is_default_{false};
  std::atomic<int64_t> used_{0};
};

/// Puts a budget in force on the calling thread for as long as it lives; null changes nothing.
class MemoryScope {
 public:
  explicit MemoryScope(std::shared_ptr<MemoryBudget> budget);
  ~MemoryScope();
  MemoryScope(const MemoryScope&) = delete;
  MemoryScope& operator=(const MemoryScope&) = delete;

 private:
  std::shared_ptr<MemoryBudget> before_;
  bool changes_;
};

}  // namespace fettle
