// Costs for the planner: what the store has learned, and roofline bounds for the rest.
#pragma once

#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "planner/cost_source.h"
#include "tuner/cost/accelerator_roofline.h"
#include "tuner/cost/efficiency.h"
#include "tuner/cost/roofline.h"
#include "tuner/store/store.h"

namespace fettle::tuner {

/// Remembers every answer, so that a problem that is extracted again asks the store nothing.
/// A row that is a prior counts as unmeasured, at a part of its time: what could win is measured
/// again, and so is what comes close; what was far behind stays behind. Entries must stay where
/// they are. Not synchronised.
class LearnedCosts final : public planner::CostSource {
 public:
  /// `cold_constants`: as measured with MeasureOptions::cold_constants.
  LearnedCosts(const DeviceSet& devices, Store& store, bool cold_constants = false);

  planner::EntryCost Kernel(const planner::Kind& kind, const planner::Entry& entry) override;
  planner::EntryCost Conversion(const Shape& shape, DType dtype, const State& from, const State& to,
                                int threads) override;

  /// What measuring gave; kept in the store too.
  void LearnKernel(const planner::Kind& kind, const planner::Entry& entry, const Row& row);
  void LearnConversion(const Shape& shape, DType dtype, const State& from, const State& to,
                       int threads, const Row& row);

  /// While set, what is not measured is banned, but for what is excused, which counts at its bound,
  /// and conversions, which count at twice theirs.
  void set_measured_only(bool only) { measured_only_ = only; }
  /// Assumes of what is not measured that it comes no nearer to its bound than what is
  /// (Efficiency).
  void AssumeEfficiency(double share) { efficiency_.set_share(share); }
  /// Bans choices by their keys.
  void Ban(const std::set<std::string>& keys) { banned_ = keys; }
  /// What stands for a choice in one process.
  std::string KeyText(const planner::Kind& kind, const planner::Entry& entry) const;
  std::string KeyText(const Shape& shape, DType dtype, const State& from, const State& to,
                      int threads) const;
  void Excuse(const planner::Kind& kind, const planner::Entry& entry);

  RowKey KernelKey(const planner::Kind& kind, const planner::Entry& entry) const;

  /// How many different rows were asked for, and how many of them the store had.
  int64_t asked() const { return asked_; }
  int64_t known() const { return known_; }
  /// Rows that the store had of another build, driver or protocol alone.
  int64_t priors() const { return priors_; }

 private:
  struct Known {
    planner::EntryCost cost;
    double bound_us = 0;           // roofline
    double prior_us = 0;           // 0: none
    std::array<int, 2> ways = {};  // of Efficiency
    std::string text;              // the key
  };
  planner::EntryCost Answer(const Known& known) const;
  Known& KnownOf(const planner::Kind& kind, const planner::Entry& entry);
  Known& Recall(const RowKey& key, double bound_us, const std::array<std::string, 2>& ways);
  void LearnEfficiency(const Known& known);
  void Relearn(Known& known, const Row& row);
  planner::EntryCost FromRow(const Row& row, double bound);
  double Bound(const kernels::Work& work, DeviceKind device, int threads) const;
  RowKey KeyOfConversion(const Shape& shape, DType dtype, const State& from, const State& to,
                         int threads) const;

  DeviceSet devices_;
  Store& store_;
  bool cold_constants_;
  Ceilings ceilings_;
  std::map<DeviceKind, Ceilings> ceilings_beside_cpu_;
  std::unordered_map<std::string, Known> memory_;
  /// The same by entry: making texts would take longer than solving.
  std::unordered_map<const planner::Entry*, Known*> by_entry_;
  Efficiency efficiency_;
  /// Kernels that were faster than their bound: theirs count for nothing.
  std::set<std::string_view> unbounded_;
  bool measured_only_ = false;
  std::set<std::string> banned_;
  std::set<std::string> excused_;  // by key of the memory
  int64_t asked_ = 0, known_ = 0, priors_ = 0;
  /// At which part of their times priors count.
  double prior_share_ = 0.85;
};

}  // namespace fettle::tuner
