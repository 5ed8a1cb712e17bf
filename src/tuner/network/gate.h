// The final verdict on a plan: whole networks against each other, interleaved.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/status.h"

namespace fettle::tuner {

/// Pairs from which on the interval of extremes gives a verdict (wrong in 2 of 2^5 cases).
inline constexpr int kLeastGatePairs = 5;

struct GateOptions {
  /// The required gain, as a share of the incumbent's time.
  double min_gain = 0.01;
  int min_pairs = 8;
  int max_pairs = 400;
  /// The required width of the ratio's interval: pairs continue until it is reached, even if the
  /// verdict is certain. 0: only the verdict is needed, and the figures come from few pairs.
  double sure_within = 0;
  /// Time after which the verdict is given by what is known. No pair begins that is not expected to
  /// end by then.
  double seconds = 2;
  /// False: both have just run.
  bool warms_up = true;
  uint64_t seed = 1;
  /// Called after each timed run that counts, of the challenger or the incumbent; may be empty.
  std::function<void(bool challenger)> observe;
  /// Nanoseconds; empty: the steady clock.
  std::function<int64_t()> now_ns;
  /// Called before each timed run; may be empty.
  std::function<void()> prepare;
  /// Patience::interruptions of runs: an interrupted run is repeated for up to `patience_ns`;
  /// empty: nobody counts.
  std::function<int64_t()> interruptions;
  int64_t patience_ns = 20'000'000;
  /// Called before each timed run; `now_ns` does not count the wait (MeasureOptions::await).
  std::function<void()> await = nullptr;
};

/// `ratio` is challenger_us / incumbent_us, and lies in the 99 % confidence interval of the ratio
/// in pairs of neighbouring runs, which is widened for it if need be.
struct GateResult {
  bool accepted = false;
  double incumbent_us = 0;  // medians
  double challenger_us = 0;
  double ratio = 1;
  double low = 0, high = 0;
  /// Median of the pairs' ratios: disturbances of both runs of a pair do not change it.
  double pair_ratio = 1;
  int pairs = 0;
  int disturbed = 0;   // runs of the pairs in which the system took a core, again and again
  std::string reason;  // one line for people, either way
};

/// Runs both in pairs, in random order within each. Accepts the challenger if it gains `min_gain`
/// and the interval lies below 1. Stops as soon as either verdict is certain, and the interval is
/// narrow enough if that is required. Fails where a run fails.
Result<GateResult> RunGate(const std::function<Status()>& incumbent,
                           const std::function<Status()>& challenger,
                           const GateOptions& options = {});

}  // namespace fettle::tuner
