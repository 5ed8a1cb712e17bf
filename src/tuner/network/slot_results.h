// The measured times of a slot's sets of parameters.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "planner/cost_source.h"
#include "tuner/store/store.h"

namespace fettle::tuner {

/// Whether a row gives a time, or a lower bound of one.
bool IsUsable(const Row& row);
/// The time of a row, or its lower bound.
double LeastUs(const Row& row);

struct SlotResult {
  std::shared_ptr<const planner::Proposal> proposal;
  Row row;
  bool banned = false;
};

/// In the order in which they were measured. Not synchronised.
class SlotResults {
 public:
  /// The smallest worthwhile gain as a share of the best time: less is noise.
  static constexpr double kWorthwhileGain = 0.02;

  explicit SlotResults(kernels::Params defaults) : defaults_(std::move(defaults)) {}

  bool empty() const { return results_.empty(); }
  size_t size() const { return results_.size(); }
  const std::vector<SlotResult>& all() const { return results_; }
  /// Null: it was never measured.
  const SlotResult* Find(const kernels::Params& params) const;
  const Row& RowOf(const kernels::Params& params) const;

  void Record(planner::Proposal proposal, const Row& row);
  /// A better time of a set that was measured before.
  void Correct(const kernels::Params& params, const Row& row);
  /// Never to be taken, measured or not.
  void Ban(const kernels::Params& params);

  /// By the times that they take at least; null: there is none.
  const SlotResult* Best() const;
  /// Of those that were timed to the end.
  const SlotResult* BestTimed() const;
  /// The least time; infinite where there is none.
  double best_us() const;
  /// Results since the last worthwhile gain.
  int64_t since_progress() const { return std::ssize(results_) - progress_at_; }
  /// The sets that may be the best one, at most `most`, best first; one where it is clear.
  std::vector<planner::Proposal> finalists(size_t most) const;

  planner::EntryCost CostOf(const SlotResult& result) const;
  /// Why no set may be taken.
  std::string WhyNone() const;

 private:
  SlotResult* Known(const kernels::Params& params);

  kernels::Params defaults_;
  std::vector<SlotResult> results_;
  std::set<kernels::Params> banned_;
  int64_t progress_at_ = 0;
  double progress_us_ = 0;
};

}  // namespace fettle::tuner
