// Measuring what may be part of a plan, as far as the time allows.
#pragma once

#include <functional>
#include <set>
#include <utility>

#include "planner/catalogue.h"
#include "planner/decision.h"
#include "tuner/cost/learned_costs.h"
#include "tuner/measure/allowance.h"
#include "tuner/measure/measure.h"
#include "tuner/network/tune.h"

namespace fettle::tuner {

/// An entry of a catalogue by kind and index.
using EntryId = std::pair<int, int>;

/// The costs of a catalogue's entries and of conversions, and what measures them while the
/// allowance lasts. Counts what it does in the report. Keeps references to its arguments; the
/// catalogue stays as it is once a cost was asked for. Not synchronised.
class CostLearner {
 public:
  CostLearner(const planner::Catalogue& catalogue, const DeviceSet& devices, int threads,
              const TuneOptions& options, Store& store, TuneReport& report);

  LearnedCosts& costs() { return costs_; }
  Allowance& allowance() { return allowance_; }
  const planner::Kind& KindOf(EntryId id) const { return catalogue_.kinds[id.first]; }
  const planner::Entry& EntryOf(EntryId id) const { return KindOf(id).entries[id.second]; }

  /// Whether a measurement could say more of the entry.
  bool IsOpen(EntryId id);
  /// Whether the level, the caller and the time allow another measurement.
  bool MayMeasure() const;
  /// Ends the measuring as the end of the time does.
  void Interrupt() { interrupted_ = true; }

  /// Measures an entry. A candidate that was stopped once is part of an optimum by its bound if it
  /// comes here again, so it is timed to the end.
  void Measure(EntryId id);
  /// Measures every open entry to the end.
  void MeasureEntries();
  /// Measures the entries of a plan that needs no costs, so that there always is a measured plan.
  void MeasureDecision(const planner::Decision& decision);
  /// Measures a conversion unless it is known; whether it was not.
  bool MeasureConversion(const ir::Value& value, const State& from, const State& to);

 private:
  planner::EntryCost CostOf(EntryId id) { return costs_.Kernel(KindOf(id), EntryOf(id)); }
  /// The fastest measured entry of the same kind that reads and writes the same states.
  double BestOfStates(EntryId id);
  /// Stops where it takes longer than `limit_us` with confidence.
  void MeasureUpTo(EntryId id, double limit_us);
  void Learn(EntryId id, const Row& row);
  bool Affords(const Effort& effort);
  bool WasGivenUp(const Row& row);

  const planner::Catalogue& catalogue_;
  int threads_;
  const TuneOptions& options_;
  Store& store_;
  TuneReport& report_;
  LearnedCosts costs_;
  Bench bench_;
  Allowance allowance_;
  bool interrupted_ = false;
  std::set<EntryId> stopped_;  // measured against a limit before
};

}  // namespace fettle::tuner
