// The last word on a plan: whole networks against each other, interleaved.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/status.h"

namespace fettle::tuner {

/// Pairs from which an interval of extremes is worth a verdict (wrong in 2 of 2^5 cases).
inline constexpr int kLeastGatePairs = 5;

struct GateOptions {
  /// The gain that is asked for, as a share of the incumbent's time.
  double min_gain = 0.01;
  int min_pairs = 8;
  int max_pairs = 400;
  /// Width of the ratio's interval that is asked for: pairs go on until it is reached, though the
  /// verdict be sure. 0: the verdict is all that is wanted, and the figures are those of few pairs.
  double sure_within = 0;
  /// Time after which the verdict falls with what is known. No pair begins that is not expected to
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
  /// Patience::interruptions of runs, which begin anew for so long; empty: nobody counts.
  std::function<int64_t()> interruptions;
  int64_t patience_ns = 20'000'000;
  /// Called before each timed run; `now_ns` does not count what it waits (MeasureOptions::await).
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
  /// Median of the pairs' ratios, which what disturbs both runs of a pair leaves alone.
  double pair_ratio = 1;
  int pairs = 0;
  int disturbed = 0;   // runs of the pairs in which the system took a core, again and again
  std::string reason;  // one line for people, either way
};

/// Runs both in pairs, in random order within each. Accepts the challenger if it gains `min_gain`
/// and the interval lies below 1. Stops as soon as either verdict is sure, and the figures are
/// where that is asked for. Fails where a run fails.
Result<GateResult> RunGate(const std::function<Status()>& incumbent,
                           const std::function<Status()>& challenger,
                           const GateOptions& options = {});

}  // namespace fettle::tuner
