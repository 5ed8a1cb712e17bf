#include "report/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fettle::tools {
namespace {

double Percentile(const std::vector<double>& sorted, double fraction) {
  const double at = fraction * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<size_t>(at);
  const size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

}  // namespace

Summary Summarise(std::vector<double> values) {
  Summary summary;
  if (values.empty()) return summary;
  std::sort(values.begin(), values.end());
  const auto count = static_cast<double>(values.size());
  summary.min = values.front();
  summary.median = Percentile(values, 0.5);
  summary.p90 = Percentile(values, 0.9);
  summary.p99 = Percentile(values, 0.99);
  summary.mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (double value : values) squares += (value - summary.mean) * (value - summary.mean);
  if (values.size() > 1) summary.stddev = std::sqrt(squares / (count - 1));
  return summary;
}

}  // namespace fettle::tools
