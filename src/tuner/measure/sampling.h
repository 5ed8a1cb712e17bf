// How times are sampled: how often, until when, and against which clock.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "base/status.h"
#include "tuner/measure/statistics.h"

namespace fettle::tuner {

inline constexpr double kNoLimit = std::numeric_limits<double>::infinity();

struct MeasureOptions {
  /// Launches before the first sample.
  int warm_ups = 2;
  /// Sampling ends with at least so many samples, so much time spent and the median known this
  /// well (relative standard error: that of five samples whose deviation is 3 %)...
  int min_samples = 5;
  double min_ms = 1;
  double precision = 0.017;
  /// ... or at this time, with three samples at least.
  double max_ms = 10;
  /// A candidate is stopped once it is slower with confidence than the limit by this share.
  double stop_margin = 0.03;
  /// A race ends with rounds among at most so many, for at most this time.
  int finalists = 4;
  double final_ms = 60;
  /// Change of the sentinel's time that counts as a change of the clock.
  double drift = 0.04;
  /// Steps of the oracle (oracle_cost.h) up to which it computes whole outputs; beyond, about 4,096
  /// elements.
  int64_t whole_macs = 4'000'000;
  /// Of inputs and expected outputs that are kept for further candidates of their groups.
  int64_t cache_bytes = int64_t{256} << 20;
  uint64_t seed = 1;
  /// Whether packed constants come from memory at each launch, as in a network whose constants
  /// leave the last cache between two runs; otherwise from the cache that the cores share.
  bool cold_constants = false;
  /// May be set from any thread: the work is then given up as at the deadline; null: never.
  const std::atomic<bool>* cancelled = nullptr;
  /// On the clock `now_ns`: work that is not done by then is given up; 0: never.
  int64_t deadline_ns = 0;
  /// Nanoseconds; empty: the steady clock.
  std::function<int64_t()> now_ns;
  /// Patience::interruptions of samples on the CPU; empty: the system's, or none where `now_ns` is
  /// given.
  std::function<int64_t()> interruptions;
  /// Called before each piece of work, for measuring that gives way to other work: returns once it
  /// may continue. `now_ns` does not count the wait. Empty: always.
  std::function<void()> await;
  /// A fixed piece of work on the calling thread that takes some ten microseconds; empty: chains
  /// of multiply-adds.
  std::function<void()> sentinel;
};

/// Whether somebody cancelled or the deadline has passed; the failure (kCancelled) that says so.
bool IsLate(const MeasureOptions& options, const std::function<int64_t()>& now_ns);
Status OutOfTime();

/// Makes everything ready, then launches once; the microseconds of the launch.
using Sample = std::function<Result<double>()>;

struct Timing {
  Summary us;
  bool stopped = false;  // slower than the limit: `us.low` holds, the rest does not
};

/// Warms up and samples as `options` say. `now_ns` is the clock of the time spent.
Result<Timing> SampleUntilSure(const Sample& sample, double stop_above_us,
                               const MeasureOptions& options,
                               const std::function<int64_t()>& now_ns);

/// Times all contenders in rounds, each once a round in changing order, until the fastest is told
/// from the others, or from those that are not 1 % slower, or for `options.final_ms`. What slows a
/// whole round is taken out. The fastest two run in every round; others leave when they are sure to
/// be slower. One result per contender.
Result<std::vector<Summary>> SampleInRounds(std::span<const Sample> contenders,
                                            const MeasureOptions& options,
                                            const std::function<int64_t()>& now_ns);

}  // namespace fettle::tuner
