// Statistics of the samples of a time.
#pragma once

#include <span>
#include <vector>

namespace fettle::tuner {

/// Standard deviations of a normal variable that hold it in 95 or 99 of 100 cases.
inline constexpr double kSure95 = 1.96, kSure99 = 2.576;

/// `low` and `high` bound the true median. They are order statistics, so they hold whatever the
/// distribution of the noise; of a handful of samples they are the extremes, and less sure.
struct Summary {
  double median = 0;
  double mad = 0;  // median absolute deviation from the median
  double low = 0;
  double high = 0;
  int samples = 0;

  /// Standard error of the median, from the deviation.
  double error() const;
};

/// All zero where there are no samples. `sureness`: of the bounds, one of the constants above.
Summary Summarise(std::span<const double> samples, double sureness = kSure95);

double Median(std::vector<double> values);

}  // namespace fettle::tuner
