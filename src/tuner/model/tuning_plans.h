// Plans that are made by tuning, segment by segment, as a session comes to them.
#pragma once

#include <string>

#include "planner/plan_source.h"
#include "tuner/model/tune_model.h"

namespace fettle::tuner {

/// Keeps a proven segment, so that the next search with these options need not be made.
void KeepSearch(const TuneOptions& options, const TunedSegment& segment, Store& store);

/// Tunes each segment that a session reaches and adds it to `result`. Results that an earlier
/// search of the same level and bounds proved come from the store, if `uses_kept`. From the first
/// segment whose preferred plan reads more constants than the caches hold, sets in `options` that
/// constants are measured cold. Not synchronised; options, store and result must live until Close.
class TuningPlans final : public planner::PlanSource {
 public:
  TuningPlans(TuneOptions& options, bool uses_kept, Store& store, TuneModelResult& result)
      : options_(options), uses_kept_(uses_kept), store_(store), result_(result) {}

  Result<exec::Plan> PlanFor(const ir::Graph& segment, const DeviceSet& devices,
                             const planner::Limits& limits) override;
  /// From now on, new segments get the plan that is preferred.
  void Close() { closed_ = true; }

 private:
  Result<planner::Decision> FindSearch(const ir::Graph& segment, const planner::DecisionKey& key,
                                       TuneReport& report);
  void Add(const TuneReport& report);

  TuneOptions& options_;
  bool uses_kept_;
  Store& store_;
  TuneModelResult& result_;
  bool closed_ = false;
};

}  // namespace fettle::tuner
