// Plans of measured costs, as one way of solving makes them: no comparison decides whether they are
// used.
#pragma once

#include <vector>

#include "planner/decision.h"
#include "planner/plan_source.h"
#include "tuner/network/tune.h"

namespace fettle::tools {

/// Tunes each segment that it is asked for. Of one session; the store outlives it.
class TunedPlans final : public planner::PlanSource {
 public:
  /// `seconds`: for measuring of each segment; 0: no limit.
  TunedPlans(tuner::TuneOptions options, double seconds, tuner::Store& store)
      : options_(std::move(options)), seconds_(seconds), store_(store) {}

  /// Segments that no tensor of which can have the layout of the options are solved for all.
  Result<exec::Plan> PlanFor(const ir::Graph& segment, const DeviceSet& devices,
                             const planner::Limits& limits) override;

  /// What tells of measuring is told no more: what it writes to may go.
  void EndProgress() { options_.progress = nullptr; }

  /// After a run: kInvalidArgument, naming those there are, where no tensor of any segment can have
  /// the layout of the options.
  Status layout_status() const { return keeps_layout_ ? OkStatus() : no_layout_; }
  const std::vector<planner::Decision>& decisions() const { return decisions_; }
  double predicted_us() const;
  int64_t measured() const { return measured_; }
  int64_t entries() const { return entries_; }

 private:
  Result<planner::Decision> Decide(const ir::Graph& segment, const DeviceSet& devices,
                                   const planner::Limits& limits);

  tuner::TuneOptions options_;
  double seconds_;
  tuner::Store& store_;
  std::vector<planner::Decision> decisions_;
  int64_t measured_ = 0, entries_ = 0;
  bool keeps_layout_ = false;
  Status no_layout_;
};

}  // namespace fettle::tools
