// Paces work in the background, and gives the clock that times it.
#pragma once

#include <atomic>
#include <cstdint>

namespace fettle::tuner {

/// Lets one thread work while no request runs (base/foreground.h), or for a share of the time.
/// Thread-safe, except for Await, which only that thread calls.
class BackgroundPace {
 public:
  /// `share` of one core for all `threads` together; 0: while no request runs. Nothing waits any
  /// more once `cancelled` is set, which must outlive this.
  BackgroundPace(double share, int threads, const std::atomic<bool>& cancelled);

  /// Returns once the next piece of work may begin.
  void Await();
  /// The steady clock without the time spent in Await.
  int64_t NowNs() const;
  /// Grows when something else ran while work was timed.
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
