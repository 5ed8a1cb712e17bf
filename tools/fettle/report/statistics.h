// Statistics of repeated timings.
#pragma once

#include <vector>

namespace fettle::tools {

struct Summary {
  double min = 0, median = 0, mean = 0, p90 = 0, p99 = 0;
  /// Sample standard deviation; 0 for one value.
  double stddev = 0;
};

/// Percentiles interpolate between neighbours. Empty input gives zeros.
Summary Summarise(std::vector<double> values);

}  // namespace fettle::tools
