// How far a launch may go at once so that it does not last longer than a cap.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>

namespace fettle {

/// Milliseconds per step of an axis of a kernel's launches, learned from the launches of one kernel
/// with one set of sizes. Thread-safe.
class LaunchPace {
 public:
  /// Steps of the next piece of a launch with `left` to go, at most `cap_ms` long as far as is
  /// known; the pieces come out even. One step of a kernel that was never measured, at most four
  /// times what was measured after that.
  int64_t NextSteps(int64_t left, double cap_ms) const;
  /// What so many steps should take, in milliseconds; infinite where nothing was measured.
  double Forecast(int64_t steps) const;
  /// Whether a piece is larger than any before, so that it is to be measured before the next one.
  bool IsUnknown(int64_t steps) const;
  /// The median of the last few pieces counts, so that one that others got in the way of does not;
  /// a piece larger than any before makes those forgotten, which had more of a launch's own cost.
  void Learn(int64_t steps, double ms);

 private:
  double MsPerStep() const;

  static constexpr size_t kSamples = 5;
  mutable std::mutex mutex_;
  std::array<double, kSamples> ms_per_step_{};  // of the last pieces
  size_t learned_ = 0;                          // pieces since the largest one
  int64_t measured_steps_ = 0;                  // of the largest piece measured
};

/// Launches that had a cap.
struct LaunchCounts {
  int64_t launches = 0, over = 0;  // over: longer than the cap
  double longest_ms = 0;
};

/// Counts them by the device's clock, or by the host's where that says nothing. Thread-safe.
class LaunchTally {
 public:
  void Add(double ms, double cap_ms);
  LaunchCounts counts() const;

 private:
  mutable std::mutex mutex_;
  LaunchCounts counts_;
};

}  // namespace fettle
