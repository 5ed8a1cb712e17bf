// Plans that are made by tuning, segment by segment, as a session comes to them.
#pragma once

#include <string>

#include "planner/plan_source.h"
#include "runtime/tune_model.h"

namespace fettle::runtime {

/// The store's keys for decisions of this compiler: what won, and how the gate judged it.
std::string StoreKey(const planner::DecisionKey& key);
std::string VerdictKey(const planner::DecisionKey& key);

/// `text` behind a line with the source hashes of the kernels that `decision` uses, as the store
/// keeps what was learned of it.
std::string Stamp(const planner::Decision& decision, std::string_view text);
/// `text` again; kVersionMismatch, naming the kernel, where one is not of the same sources any
/// more, kCorrupt where there is no such line.
Result<std::string> Unstamp(std::string_view kept);

/// Tunes each segment that a session comes to and adds it to `result`; what an earlier search of
/// the same level proved is taken from the store. Not synchronised; options, store and result must
/// live until Close.
class TuningPlans final : public planner::PlanSource {
 public:
  TuningPlans(const tuner::TuneOptions& options, tuner::Store& store, TuneModelResult& result)
      : options_(options), store_(store), result_(result) {}

  Result<exec::Plan> PlanFor(const ir::Graph& segment, const DeviceSet& devices,
                             const planner::Limits& limits) override;
  /// From now on, new segments get the plan that is preferred.
  void Close() { closed_ = true; }

 private:
  Result<planner::Decision> FindSearch(const ir::Graph& segment, const planner::DecisionKey& key,
                                       tuner::TuneReport& report);
  Result<planner::Decision> Search(const ir::Graph& segment, const planner::DecisionKey& key,
                                   const DeviceSet& devices, const planner::Limits& limits,
                                   tuner::TuneReport& report);
  void Add(const tuner::TuneReport& report);

  const tuner::TuneOptions& options_;
  tuner::Store& store_;
  TuneModelResult& result_;
  bool closed_ = false;
};

}  // namespace fettle::runtime
