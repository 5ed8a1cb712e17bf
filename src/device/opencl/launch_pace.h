// How far a launch may go at once so that it does not last longer than a cap.
#pragma once

#include <cstdint>
#include <mutex>

namespace fettle {

/// Milliseconds per step of a kernel's last axis, learned from the launches of one kernel with one
/// set of sizes. Thread-safe.
class LaunchPace {
 public:
  /// Steps of the next piece of a launch with `left` to go, at most `cap_ms` long as far as is
  /// known; the pieces come out even. One step of a kernel that was never measured, at most four
  /// times what was measured after that.
  int64_t NextSteps(int64_t left, double cap_ms) const;
  /// Whether a piece is larger than any before, so that it is to be measured before the next one.
  bool IsUnknown(int64_t steps) const;
  /// A slower piece counts at once, a faster one little by little.
  void Learn(int64_t steps, double ms);

 private:
  mutable std::mutex mutex_;
  double ms_per_step_ = 0;
  int64_t measured_steps_ = 0;  // of the largest piece measured
};

}  // namespace fettle
