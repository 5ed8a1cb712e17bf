// Measures candidates that may be part of a plan, as far as the time allows.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <utility>

#include "planner/catalogue.h"
#include "planner/decision.h"
#include "tuner/cost/calibrated_costs.h"
#include "tuner/measure/allowance.h"
#include "tuner/measure/measure.h"
#include "tuner/network/slot_costs.h"
#include "tuner/network/tune.h"

namespace fettle::tuner {

/// An entry of a catalogue by kind and index.
using EntryId = std::pair<int, int>;

/// The costs of a catalogue's entries and of conversions, and what measures them while the
/// allowance lasts. Counts what it does in the report. Keeps references to its arguments; the
/// catalogue stays as it is once a cost was asked for. Not synchronised.
class CostLearner {
 public:
  CostLearner(const planner::Catalogue& catalogue, const DeviceSet& devices,
              const planner::Limits& limits, const TuneOptions& options, Store& store,
              TuneReport& report);

  /// Of entries alone.
  SlotCosts& costs() { return costs_; }
  /// The same in networks: the costs that the solver uses.
  planner::CostSource& costs_in_network() { return calibrated_; }
  Allowance& allowance() { return allowance_; }
  const planner::Kind& KindOf(EntryId id) const { return catalogue_.kinds[id.first]; }
  const planner::Entry& EntryOf(EntryId id) const { return KindOf(id).entries[id.second]; }

  /// Whether a measurement could tell more about the entry.
  bool IsOpen(EntryId id);
  /// Whether the level, the caller and the time allow another measurement.
  bool MayMeasure() const;
  /// Ends the measuring as the end of the time does.
  void Interrupt() { interrupted_ = true; }
  /// Bench::lost.
  const Status& lost() const { return bench_.lost(); }
  bool IsInterrupted() const { return interrupted_ || IsCancelled(); }
  /// MeasureOptions::cancelled.
  bool IsCancelled() const {
    const std::atomic<bool>* cancelled = options_.measure.cancelled;
    return cancelled != nullptr && *cancelled;
  }

  /// Entries that will not be measured because the time is too short for them.
  int64_t given_up() const { return std::ssize(given_up_); }

  /// Measures sets that the slots of open entries ask for: the default one, or a few more of each.
  void Measure(const std::set<EntryId>& ids);
  /// Measures every open entry until it is closed, to the end.
  void MeasureEntries();
  /// Runs sets of a slot that cannot be told apart against each other; whether there were some.
  bool Race(EntryId id);
  /// Runs the best set of an entry against that of MeasureDecision's entry for the same group, if
  /// it seemed at least so much faster and one of them was measured here; once. Whether they ran.
  bool Rematch(EntryId id, double least_gain_us);
  /// Measures the entries of a plan that needs no costs.
  void MeasureDecision(const planner::Decision& decision);
  /// Measures a conversion unless it is known; whether it was not.
  bool MeasureConversion(const ir::Value& value, const State& from, const State& to);

 private:
  planner::EntryCost CostOf(EntryId id) { return costs_.Kernel(KindOf(id), EntryOf(id)); }
  /// Measures the next set of an entry; false where there is none, or no time.
  bool MeasureNext(EntryId id);
  /// Lets other processes compile the programs of the next sets together, where there are such
  /// processes.
  void PrepareNext(const std::map<EntryId, int>& ids);
  /// The fastest measured entry of the same kind that reads and writes the same states.
  double BestOfStates(EntryId id);
  /// Measures the set that the slot asks for; false where the time does not allow it. Stops where
  /// it takes longer than `limit_us` with confidence.
  bool MeasureUpTo(EntryId id, const kernels::Params& params, double limit_us);
  void Learn(EntryId id, const kernels::Params& params, const Row& row);
  void GiveUp(EntryId id);
  bool Affords(const Effort& effort);
  bool WasGivenUp(const Row& row);

  const planner::Catalogue& catalogue_;
  const DeviceSet devices_;
  int threads_;
  const TuneOptions& options_;
  Store& store_;
  TuneReport& report_;
  SlotCosts costs_;
  CalibratedCosts calibrated_;
  Bench bench_;
  Allowance allowance_;
  bool interrupted_ = false;
  std::set<EntryId> given_up_;
  std::set<EntryId> preferred_;        // what can be had unmeasured, if need be
  std::map<int, EntryId> default_of_;  // by kind
  std::set<EntryId> measured_, rematched_;
};

}  // namespace fettle::tuner
