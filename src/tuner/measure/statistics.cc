#include "tuner/measure/statistics.h"

#include <algorithm>
#include <cmath>

namespace fettle::tuner {
namespace {

/// The median of `values`, which it reorders.
double TakeMedian(std::span<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

}  // namespace

double Median(std::vector<double> values) { return TakeMedian(values); }

double Summary::error() const {
  if (samples == 0) return 0;
  // Of normal samples the deviation is 1.4826 MAD, and the median's error 1.2533 of the mean's.
  return 1.4826 * 1.2533 * mad / std::sqrt(static_cast<double>(samples));
}

Summary Summarise(std::span<const double> samples, double sureness) {
  Summary summary;
  if (samples.empty()) return summary;
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  const size_t n = sorted.size();
  summary.samples = static_cast<int>(n);
  summary.median = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
  // The number of samples below the median is binomial (n, 1/2), its deviation sqrt(n) / 2.
  const auto reach =
      static_cast<size_t>(std::ceil(sureness * std::sqrt(static_cast<double>(n)) / 2 + 0.5));
  const size_t rank = n / 2 > reach ? n / 2 - reach : 0;
  summary.low = sorted[rank];
  summary.high = sorted[n - 1 - rank];
  for (double& value : sorted) value = std::fabs(value - summary.median);
  summary.mad = TakeMedian(sorted);
  return summary;
}

}  // namespace fettle::tuner
