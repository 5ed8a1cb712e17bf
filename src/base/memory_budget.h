// How much host memory tensors may take together: a model or an input of a few bytes can ask for
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
  /// `outer`: what is taken counts there, too, and must fit in both; null for none.
  explicit MemoryBudget(int64_t limit, std::shared_ptr<MemoryBudget> outer = nullptr)
      : limit_(limit), outer_(std::move(outer)) {}

  /// Counts `bytes` more. Fails with kOutOfMemory, before anything is allocated, where they would
  /// pass the limit.
  Status Take(int64_t bytes);
  void GiveBack(int64_t bytes);
  /// Fails as Take does and counts nothing: of memory that another allocator counts, and of the sum
  /// of what will be taken in parts.
  Status Check(int64_t bytes) const;
  /// Fails where `bytes` pass the limit, whatever is in use: they may be in use already.
  Status CheckAlone(int64_t bytes) const;
  void set_limit(int64_t limit) {
    limit_.store(limit, std::memory_order_relaxed);
    is_default_.store(false, std::memory_order_relaxed);
  }
  int64_t limit() const { return limit_.load(std::memory_order_relaxed); }
  int64_t used() const { return used_.load(std::memory_order_relaxed); }

  /// That of the whole process, which is in force where no scope is: four fifths of the machine's
  /// memory, or of what its control group may have, until set_limit; until then large blocks are
  /// also held against what the machine has left.
  static MemoryBudget& Process();
  /// The one in force on the calling thread.
  static const std::shared_ptr<MemoryBudget>& Current();
  /// For what one run of a loop makes: the smaller of a quarter of the process's limit and 8 GiB,
  /// since a loop of a few bytes may double its values until a limit is passed. Null where somebody
  /// set a limit, which holds for loops, too, or a loop's is in force.
  static std::shared_ptr<MemoryBudget> ForLoop();
  /// Refuses nothing: for the few numbers that importers write into graphs beside a file's weights.
  static const std::shared_ptr<MemoryBudget>& Unbounded();
  /// The one in force on the calling thread but for loops: of weights, which no iteration adds to.
  static const std::shared_ptr<MemoryBudget>& OutsideLoops();

 private:
  Status Refusal(int64_t bytes, int64_t used) const;
  /// Fails where the machine has no `bytes` left and nobody has set a limit.
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
