#include "runtime/lane_choice.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace fettle::runtime {
namespace {

/// What trials may cost, as a share of the time: until the first verdict, after it, and after many
/// that failed; on fewer lanes than all, where more may be of use again at any time.
constexpr double kFirstShare = 0.05, kMostShare = 0.01, kLeastShare = kMostShare / 32,
                 kLeastOfFewer = kMostShare / 4;
/// Runs in a row that decide, and runs with more lanes than before until workers are awake and have
/// their share in their caches, which do not count.
constexpr int kTrials = 5, kWakes = 3;
/// Others are taken where they take less than this share of the time; a trial that takes longer
/// than the second ends the matter.
constexpr double kFaster = 0.97, kHopeless = 1.2;
/// Runs that take so much longer than usual are a reason to look around; what is usual changes by
/// such a share with each run.
constexpr double kTrouble = 1.25, kHabit = 0.02;
/// Runs before which nothing is known.
constexpr int kFirst = 5;

std::vector<int> Halves(int threads) {
  std::vector<int> levels;
  for (; threads > 1; threads = (threads + 1) / 2) levels.push_back(threads);
  levels.push_back(1);
  return levels;
}

}  // namespace

void LaneChoice::Times::Add(int64_t ns) { ns_[count_++ % kKept] = ns; }

double LaneChoice::Times::Mean() const {
  const int64_t sum = std::accumulate(ns_, ns_ + count(), int64_t{0});
  if (count() == 1) return static_cast<double>(sum);
  return static_cast<double>(sum - *std::max_element(ns_, ns_ + count())) / (count() - 1);
}

LaneChoice::LaneChoice(int threads) : levels_(Halves(threads)), share_(kFirstShare) {}

void LaneChoice::Forget() {
  tries_ = false;
  chosen_times_.Clear();
  usual_ns_ = 0;
  share_ = kMostShare;
  allowance_ = std::min(allowance_, 0.0);
}

void LaneChoice::Add(int64_t ns) {
  if (!HasOther()) return;
  if (tries_) {
    AddTrial(ns);
  } else {
    AddChosen(ns);
  }
}

/// Of one trial. With fewer lanes: what they lose where all others were of use. With more: what a
/// worker costs that comes late.
double LaneChoice::ExpectedCost() const {
  const double mean = chosen_times_.Mean();
  if (!down_next_) return mean;
  return mean * (static_cast<double>(levels_[chosen_]) / levels_[chosen_ + 1] - 1);
}

void LaneChoice::AddChosen(int64_t ns) {
  allowance_ += share_ * static_cast<double>(ns);
  if (rests_ > 0) {
    --rests_;
    return;
  }
  chosen_times_.Add(ns);
  if (chosen_times_.count() < kFirst) return;
  const double mean = chosen_times_.Mean();
  if (usual_ns_ == 0) usual_ns_ = mean;
  if (mean > kTrouble * usual_ns_) {
    share_ = kMostShare;
    usual_ns_ = mean;
  }
  usual_ns_ += kHabit * (mean - usual_ns_);
  BeginTrials();
}

void LaneChoice::BeginTrials() {
  if (chosen_ == 0) down_next_ = true;
  if (chosen_ + 1 == levels_.size()) down_next_ = false;
  if (allowance_ < ExpectedCost()) return;
  tried_ = down_next_ ? chosen_ + 1 : chosen_ - 1;
  trial_times_.Clear();
  tries_ = true;
  wakes_ = tried_ < chosen_ ? kWakes : 0;
}

void LaneChoice::AddTrial(int64_t ns) {
  const double mean = chosen_times_.Mean();
  allowance_ -= std::max(static_cast<double>(ns) - mean, 0.0);
  if (wakes_ > 0) {
    --wakes_;
    return;
  }
  trial_times_.Add(ns);
  const double tried = trial_times_.Mean();
  if (tried > kHopeless * mean) {
    EndTrials(false);
  } else if (trial_times_.count() == kTrials) {
    EndTrials(tried < kFaster * mean);
  }
}

void LaneChoice::EndTrials(bool take) {
  tries_ = false;
  rests_ = kWakes;
  if (take) {
    chosen_ = tried_;
    chosen_times_.Clear();
    usual_ns_ = 0;
    share_ = kMostShare;
    return;
  }
  down_next_ = !down_next_;
  share_ = std::max(std::min(share_ / 2, kMostShare), chosen_ == 0 ? kLeastShare : kLeastOfFewer);
}

int RunLanes::Begin(std::span<const Tensor> inputs) {
  if (!adapts_) return threads_;
  const auto shape = [](const Tensor& tensor) -> const Shape& { return tensor.shape(); };
  if (!std::ranges::equal(inputs, shapes_, {}, shape)) {
    shapes_.clear();
    for (const Tensor& input : inputs) shapes_.push_back(input.shape());
    choice_.Forget();
  }
  return choice_.lanes();
}

void RunLanes::End(int64_t ns, size_t steps) {
  if (!adapts_) return;
  if (steps != std::exchange(steps_, steps)) {
    choice_.Forget();
    return;  // of which the first run may have made ready what is kept
  }
  choice_.Add(ns);
}

}  // namespace fettle::runtime
