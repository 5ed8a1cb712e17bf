#include "device/opencl/launch_pace.h"

#include <algorithm>
#include <limits>

namespace fettle {
namespace {

/// Of the cap: what a piece may take by its forecast.
constexpr double kTarget = 0.75;
constexpr int64_t kGrowth = 4;

}  // namespace

int64_t LaunchPace::NextSteps(int64_t left, double cap_ms) const {
  std::lock_guard lock(mutex_);
  if (left <= 1 || measured_steps_ == 0) return std::min<int64_t>(left, 1);
  const double ms_per_step = MsPerStep();
  const double within = ms_per_step > 0 ? kTarget * cap_ms / ms_per_step : 1e18;
  const int64_t known = std::min(left, kGrowth * measured_steps_);
  const int64_t most = within >= static_cast<double>(known)
                           ? known
                           : std::max<int64_t>(static_cast<int64_t>(within), 1);
  const int64_t pieces = (left + most - 1) / most;
  return (left + pieces - 1) / pieces;
}

double LaunchPace::Forecast(int64_t steps) const {
  std::lock_guard lock(mutex_);
  return measured_steps_ == 0 ? std::numeric_limits<double>::infinity()
                              : static_cast<double>(steps) * MsPerStep();
}

bool LaunchPace::IsUnknown(int64_t steps) const {
  std::lock_guard lock(mutex_);
  return steps > measured_steps_;
}

void LaunchPace::Learn(int64_t steps, double ms) {
  std::lock_guard lock(mutex_);
  if (steps > measured_steps_) learned_ = 0;
  measured_steps_ = std::max(measured_steps_, steps);
  ms_per_step_[learned_++ % kSamples] = ms / static_cast<double>(steps);
}

void LaunchTally::Add(double ms, double cap_ms) {
  std::lock_guard lock(mutex_);
  ++counts_.launches;
  counts_.over += ms > cap_ms ? 1 : 0;
  counts_.longest_ms = std::max(counts_.longest_ms, ms);
}

LaunchCounts LaunchTally::counts() const {
  std::lock_guard lock(mutex_);
  return counts_;
}

/// The slower of the two in the middle where they are even in number.
double LaunchPace::MsPerStep() const {
  const size_t count = std::min(learned_, kSamples);
  std::array<double, kSamples> sorted = ms_per_step_;
  std::sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(count));
  return sorted[count / 2];
}

}  // namespace fettle
