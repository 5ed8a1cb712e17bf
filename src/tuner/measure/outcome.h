// The outcome of a measurement, and which of several may be the fastest.
#pragma once

#include <string>
#include <vector>

#include "tuner/measure/measure.h"

namespace fettle::tuner {

/// A row, and the upper bound of its time, which is not kept.
struct Outcome {
  Row row;
  double high_us = 0;

  bool ok() const { return row.status == Row::Status::kOk; }
  /// Sets the times of a summary, divided by `slowdown`.
  void SetTimes(const Summary& us, double slowdown) {
    row.median_us = us.median / slowdown;
    row.mad_us = us.mad / slowdown;
    row.low_us = us.low / slowdown;
    row.samples = us.samples;
    high_us = us.high / slowdown;
  }
};

/// One that ended without times, now.
Outcome End(Row::Status status, std::string reason = "");

/// Indices of the candidates that may be the fastest, at most `most`, in the order given: all
/// except those that are slower than the fastest by more than `margin` with confidence.
std::vector<size_t> Finalists(const std::vector<Outcome>& outcomes, size_t most, double margin);

/// Marks as stopped each candidate that was not in the final but seemed faster before than
/// `fastest_us`, the fastest time of the final: such a time cannot win.
void StopOthers(const std::vector<size_t>& finalists, double fastest_us,
                std::vector<Outcome>& outcomes);

}  // namespace fettle::tuner
