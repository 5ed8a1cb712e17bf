// What one lane of a call has to do, and whether its worker takes part: one word, on one cache
// line.
#pragma once

#include <atomic>
#include <cstdint>

namespace fettle {

/// The parts of a lane's tasks in a numbered call. Anyone in that call claims them one by one.
/// Calls need not reset it: a word of another call counts as nothing claimed. Thread-safe.
class alignas(64) LaneShare {
 public:
  static constexpr int kMostParts = (1 << 14) - 1;
  static constexpr int kCallBits = 48;  // enough for years of calls

  /// The next part of `parts` (1 .. kMostParts) in `call`, or -1 when all are claimed.
  int Claim(uint64_t call, int parts) {
    uint64_t seen = word_.load(std::memory_order_relaxed);
    for (;;) {
      const uint64_t now = In(call, seen);
      if ((now & kAllClaimed) != 0) return -1;
      const auto part = static_cast<int>(now & kPart);
      const uint64_t then = (now + 1) | (part + 1 == parts ? kAllClaimed : 0);
      if (word_.compare_exchange_weak(seen, then)) return part;
    }
  }

  /// Called by the lane's worker alone. False if all parts are claimed, or a later call has begun.
  /// If true, everything that the call refers to stays alive until Leave.
  bool Join(uint64_t call) {
    uint64_t seen = word_.load();
    do {
      if (seen >> kShift > call || (In(call, seen) & kAllClaimed) != 0) return false;
    } while (!word_.compare_exchange_weak(seen, In(call, seen) | kJoined));
    return true;
  }
  void Leave(uint64_t call) { left_.store(call); }

  /// When all parts are claimed: whether the worker has finished `call` or never joined it.
  bool IsOver(uint64_t call) const { return (word_.load() & kJoined) == 0 || left_.load() == call; }

 private:
  static constexpr int kShift = 64 - kCallBits;
  static constexpr uint64_t kPart = kMostParts, kJoined = kPart + 1, kAllClaimed = 2 * kJoined;

  /// The word as it stands in `call`.
  static uint64_t In(uint64_t call, uint64_t word) {
    return word >> kShift == call ? word : call << kShift;
  }

  std::atomic<uint64_t> word_{0};  // call, all claimed, joined, the next part
  std::atomic<uint64_t> left_{0};  // the call that the worker left last
};

}  // namespace fettle
