// Noticing changes of the clock by timing the same piece of work again and again.
#pragma once

#include <cstdint>
#include <functional>

namespace fettle::tuner {

/// Not synchronised.
class ClockWatch {
 public:
  /// `drift`: the relative change that counts. Times `sentinel` as the reference.
  ClockWatch(std::function<int64_t()> now_ns, std::function<void()> sentinel, double drift);

  /// How many times as long things take now as at the reference: exactly 1 unless a change is
  /// certain and large enough. Takes a few runs of the sentinel where nothing changed.
  double Slowdown();

 private:
  /// Times the sentinel until its median is known to within a third of the drift, or, where
  /// `reference_us_` is set, until it is clear that it is no further off than the drift.
  double SentinelUs();

  std::function<int64_t()> now_ns_;
  std::function<void()> sentinel_;
  double drift_;
  double reference_us_ = 0;
};

}  // namespace fettle::tuner
