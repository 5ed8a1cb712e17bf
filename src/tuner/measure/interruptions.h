// Times that hold only the work that was timed, on machines that do other work too.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "base/status.h"
#include "device/cpu/cpu_device.h"

namespace fettle::tuner {

/// How often the system has taken a core from a thread of this process that could have continued
/// (ru_nivcsw of getrusage). Thread-safe.
int64_t Interruptions();

/// Lanes that wait for each other before something is timed: one whose core is taken lets the
/// others do its share, and what takes twice as long is then counted nowhere. Thread-safe.
class Muster {
 public:
  /// Of so many lanes. Where each may have a core, they wait for some turns of the scheduler, else
  /// for 50 us.
  Muster(int64_t lanes, const CpuInfo& info);
  /// Called on each lane.
  void Meet();

 private:
  int64_t lanes_, wait_ns_;
  std::atomic<int64_t> met_ = 0;
};

/// How long something is timed anew.
struct Patience {
  std::function<int64_t()> now_ns;
  /// Grows with each interruption; empty: nobody counts, and every time is trusted.
  std::function<int64_t()> interruptions;
  /// No time is taken anew after so many nanoseconds.
  int64_t ns = 0;
  /// Called before each sample; may be empty.
  std::function<void()> await = nullptr;
};

struct UndisturbedTime {
  double us = 0;
  bool disturbed = false;  // every time
};

/// The time in microseconds of `sample`, which makes everything ready and times it. Repeated where
/// there was an interruption meanwhile, as long as the patience lasts: the first time without an
/// interruption, else the least time.
Result<UndisturbedTime> TimeUndisturbed(const std::function<Result<double>()>& sample,
                                        const Patience& patience);

}  // namespace fettle::tuner
