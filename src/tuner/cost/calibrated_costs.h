// Costs in networks, computed from costs measured alone.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "planner/cost_source.h"
#include "tuner/cost/calibration.h"

namespace fettle::tuner {

/// The times and bounds of another source, multiplied by what such steps take in networks over what
/// they take alone. Entries must stay where they are. Not synchronised.
class CalibratedCosts final : public planner::CostSource {
 public:
  /// `wants_workspaces`: costs include the bytes of entries' workspaces; each entry is prepared
  /// once for that.
  CalibratedCosts(planner::CostSource& alone, const DeviceSet& devices, Store& store,
                  bool wants_workspaces)
      : alone_(alone),
        devices_(devices),
        calibrations_(store),
        wants_workspaces_(wants_workspaces) {}

  planner::EntryCost Kernel(const planner::Kind& kind, const planner::Entry& entry) override;
  planner::EntryCost Conversion(const Shape& shape, DType dtype, const State& from, const State& to,
                                int threads) override;

  /// Entries of the plan that needs no costs. Measured times of other entries are multiplied by
  /// kDoubt: medians are known to about that, and which of many equal choices was luckiest changes
  /// from one tuning to the next.
  void Favour(const planner::Entry& entry) { favoured_.insert(&entry); }
  static constexpr double kDoubt = 1.017;  // MeasureOptions::precision

  /// Bans an entry until it is measured: there is no time to measure it.
  void GiveUp(const planner::Entry& entry) { given_up_.insert(&entry); }

 private:
  double FactorOf(const planner::Kind& kind, const planner::Entry& entry, double alone_us);
  int64_t WorkspaceOf(const planner::Entry& entry, const kernels::Params& params);

  planner::CostSource& alone_;
  DeviceSet devices_;
  Calibrations calibrations_;
  bool wants_workspaces_;
  std::map<std::pair<const planner::Entry*, double>, double> factors_;  // by the time alone
  std::map<std::pair<const planner::Entry*, kernels::Params>, int64_t> workspaces_;
  std::map<std::pair<std::string, double>, double> conversion_factors_;
  std::set<const planner::Entry*> favoured_, given_up_;
};

}  // namespace fettle::tuner
