// The latency of all frames so far.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace fettle::enhance {

/// Milliseconds in steps of 0.1; what is more than 20 s counts as that. One thread's.
class Latencies {
 public:
  void Add(double ms) {
    const double step = std::clamp(ms * 10, 0.0, static_cast<double>(kSteps - 1));
    ++counts_[static_cast<size_t>(std::lround(step))];
    ++count_;
    most_ = std::max(most_, ms);
  }
  /// The least that `share` of all frames do not pass; 0 without frames.
  double Percentile(double share) const {
    const auto wanted = static_cast<int64_t>(std::ceil(share * static_cast<double>(count_) - 1e-9));
    int64_t seen = 0;
    for (size_t i = 0; i < counts_.size() && count_ > 0; ++i) {
      seen += counts_[i];
      if (seen >= wanted) return static_cast<double>(i) / 10;
    }
    return 0;
  }
  double most() const { return most_; }
  int64_t count() const { return count_; }

 private:
  static constexpr int kSteps = 200'000;
  std::vector<int64_t> counts_ = std::vector<int64_t>(kSteps);
  int64_t count_ = 0;
  double most_ = 0;
};

}  // namespace fettle::enhance
