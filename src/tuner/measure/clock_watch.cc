#include "tuner/measure/clock_watch.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tuner/measure/statistics.h"

namespace fettle::tuner {
namespace {

constexpr int kLeastRuns = 3, kMostRuns = 96;

}  // namespace

ClockWatch::ClockWatch(std::function<int64_t()> now_ns, std::function<void()> sentinel,
                       double drift)
    : now_ns_(std::move(now_ns)), sentinel_(std::move(sentinel)), drift_(drift) {
  sentinel_();
  reference_us_ = SentinelUs();
}

double ClockWatch::Slowdown() {
  const double slowdown = SentinelUs() / reference_us_;
  return std::fabs(slowdown - 1) > drift_ ? slowdown : 1;
}

double ClockWatch::SentinelUs() {
  std::vector<double> us;
  for (;;) {
    const int64_t begin = now_ns_();
    sentinel_();
    us.push_back(std::max(static_cast<double>(now_ns_() - begin), 1.0) * 1e-3);
    const auto runs = static_cast<int>(us.size());
    if (runs < kLeastRuns) continue;
    const Summary summary = Summarise(us);
    const bool known = runs >= 2 * kLeastRuns && summary.error() < drift_ / 3 * summary.median;
    const bool unchanged =
        reference_us_ > 0 &&
        std::fabs(summary.median - reference_us_) + summary.error() < drift_ * reference_us_;
    if (known || unchanged || runs >= kMostRuns) return summary.median;
  }
}

}  // namespace fettle::tuner
