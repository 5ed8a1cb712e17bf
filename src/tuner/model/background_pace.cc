#include "tuner/model/background_pace.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/clock.h"
#include "base/foreground.h"
#include "tuner/measure/interruptions.h"

namespace fettle::tuner {
namespace {

/// Between two looks at the requests: short, as gaps between them may be.
constexpr int64_t kLookNs = 200'000;
constexpr double kLeastShare = 1e-3;
/// Rests are at least so long, and cancelled within so long.
constexpr int64_t kLeastRestNs = 1'000'000, kMostSleepNs = 20'000'000;

}  // namespace

BackgroundPace::BackgroundPace(double share, int threads, const std::atomic<bool>& cancelled)
    : rest_per_work_(share > 0 ? threads / std::clamp(share, kLeastShare, 1.0) - 1 : 0),
      cancelled_(cancelled),
      resumed_ns_(NowNs()) {
  if (share > 0) rest_per_work_ = std::max(rest_per_work_, 1e-9);
}

void BackgroundPace::Await() {
  if (cancelled_) return;
  const int64_t begin = fettle::NowNs();
  if (rest_per_work_ > 0)
    AwaitShare();
  else
    AwaitIdle();
  waited_ns_ += fettle::NowNs() - begin;
}

int64_t BackgroundPace::NowNs() const { return fettle::NowNs() - waited_ns_; }

int64_t BackgroundPace::Disturbances() const {
  return tuner::Interruptions() + (rest_per_work_ > 0 ? 0 : Foreground::begun());
}

void BackgroundPace::AwaitIdle() {
  // One request after another leaves gaps in which nothing is worth a start: two looks must have
  // seen none, and none may have begun between them.
  while (!cancelled_) {
    const int64_t begun = Foreground::begun();
    const bool busy = Foreground::busy();
    if (!busy && !seen_busy_ && begun == seen_begun_) return;
    seen_begun_ = begun;
    seen_busy_ = busy;
    SleepFor(kLookNs);
  }
}

void BackgroundPace::AwaitShare() {
  const int64_t worked_ns = NowNs() - resumed_ns_;
  const auto rest_ns = static_cast<int64_t>(static_cast<double>(worked_ns) * rest_per_work_);
  if (rest_ns < kLeastRestNs) return;
  const int64_t end = fettle::NowNs() + rest_ns;
  for (int64_t left = rest_ns; left > 0 && !cancelled_; left = end - fettle::NowNs())
    SleepFor(std::min(left, kMostSleepNs));
  resumed_ns_ += worked_ns;
}

void BackgroundPace::SleepFor(int64_t ns) {
  std::this_thread::sleep_for(std::chrono::nanoseconds(ns));
}

}  // namespace fettle::tuner
