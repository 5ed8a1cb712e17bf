#include "device/opencl/launch_pace.h"

#include <algorithm>

namespace fettle {
namespace {

/// Of the cap: what a piece may take by its forecast.
constexpr double kTarget = 0.75;
constexpr int64_t kGrowth = 4;
/// Of a new measurement in what is remembered, where it is faster.
constexpr double kShare = 0.1;

}  // namespace

int64_t LaunchPace::NextSteps(int64_t left, double cap_ms) const {
  std::lock_guard lock(mutex_);
  if (left <= 1 || measured_steps_ == 0) return std::min<int64_t>(left, 1);
  const double within = ms_per_step_ > 0 ? kTarget * cap_ms / ms_per_step_ : 1e18;
  const int64_t known = std::min(left, kGrowth * measured_steps_);
  const int64_t most = within >= static_cast<double>(known)
                           ? known
                           : std::max<int64_t>(static_cast<int64_t>(within), 1);
  const int64_t pieces = (left + most - 1) / most;
  return (left + pieces - 1) / pieces;
}

bool LaunchPace::IsUnknown(int64_t steps) const {
  std::lock_guard lock(mutex_);
  return steps > measured_steps_;
}

void LaunchPace::Learn(int64_t steps, double ms) {
  std::lock_guard lock(mutex_);
  const double per_step = ms / static_cast<double>(steps);
  const bool first = steps > measured_steps_;
  measured_steps_ = std::max(measured_steps_, steps);
  ms_per_step_ =
      first || per_step > ms_per_step_ ? per_step : (1 - kShare) * ms_per_step_ + kShare * per_step;
}

}  // namespace fettle
