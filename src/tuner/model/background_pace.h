// When work in the background goes on, and the clock that it is timed by.
#pragma once

#include <atomic>
#include <cstdint>

namespace fettle::tuner {

/// Has one thread work while no request runs (base/foreground.h), or for a share of the time.
/// Thread-safe; Await is that thread's.
class BackgroundPace {
 public:
  /// `share` of one core, which `threads` have together; 0: while no request runs. Nothing waits
  /// any more once `cancelled`, which outlives it.
  BackgroundPace(double share, int threads, const std::atomic<bool>& cancelled);

  /// Returns once the next piece of work may begin.
  void Await();
  /// The steady clock, without what Await has waited.
  int64_t NowNs() const;
  /// Grows where what was timed was not alone.
  int64_t Disturbances() const;
  /// As of the last Await.
  double waited_seconds() const { return static_cast<double>(waited_ns_) * 1e-9; }

 private:
  void AwaitIdle();
  void AwaitShare();
  void SleepFor(int64_t ns);

  double rest_per_work_;  // 0: idle time
  const std::atomic<bool>& cancelled_;
  std::atomic<int64_t> waited_ns_ = 0;
  int64_t seen_begun_ = 0;  // what the last look saw
  bool seen_busy_ = true;
  int64_t resumed_ns_;  // on this clock, when work was last paid for by rest
};

}  // namespace fettle::tuner
