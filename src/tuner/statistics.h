// What samples of a time say about it.
#pragma once

#include <span>
#include <vector>

namespace fettle::tuner {

/// `low` and `high` bound the true median with 95 % confidence. They are order statistics, so they
/// hold whatever the distribution of the noise (below six samples they are the extremes).
struct Summary {
  double median = 0;
  double mad = 0;  // median absolute deviation from the median
  double low = 0;
  double high = 0;
  int samples = 0;

  /// Standard error of the median, from the deviation.
  double error() const;
};

/// All zero where there are no samples.
Summary Summarise(std::span<const double> samples);

double Median(std::vector<double> values);

}  // namespace fettle::tuner
