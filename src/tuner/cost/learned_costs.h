// What the store has learned of kernels and conversions, and roofline bounds for the rest.
#pragma once

#include <array>
#include <atomic>
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

/// Remembers every answer about bounds and conversions, so that a problem that is extracted again
/// asks the store nothing. A row that is a prior counts as unmeasured, at a part of its time
/// (prior_share): what could win is measured again, and so is what comes close; what was far behind
/// stays behind. Entries must stay where they are. Not synchronised.
class LearnedCosts final {
 public:
  /// `cold_constants`: as measured with MeasureOptions::cold_constants. Ceilings that the store has
  /// not are probed unless that is `cancelled`.
  LearnedCosts(const DeviceSet& devices, Store& store, bool cold_constants = false,
               const std::atomic<bool>* cancelled = nullptr);

  /// What an entry takes at least, as far as is known by now, whatever its parameters.
  double KernelBound(const planner::Kind& kind, const planner::Entry& entry);
  /// What `work` takes at least at the ceilings of a device.
  double Bound(const kernels::Work& work, DeviceKind device, int threads) const;
  /// What the store has of a kernel with these parameters; exact times teach bounds.
  Result<Row> FindKernel(const planner::Kind& kind, const planner::Entry& entry,
                         const kernels::Params& params);
  /// Counts an entry that was asked for, with what the store had of it.
  void CountEntry(const Result<Row>& row) {
    ++asked_;
    priors_ += row.ok() && row->prior ? 1 : 0;
  }
  planner::EntryCost Conversion(const Shape& shape, DType dtype, const State& from, const State& to,
                                int threads);

  /// What measuring gave; kept in the store too. `prior_us`: what was known before; 0: nothing.
  void LearnKernel(const planner::Kind& kind, const planner::Entry& entry,
                   const kernels::Params& params, double prior_us, const Row& row);
  void LearnConversion(const Shape& shape, const State& from, const State& to, int threads,
                       const Row& row);
  /// At which part of their times priors count.
  double prior_share() const { return prior_share_; }
  Store& store() { return store_; }
  const Device& DeviceOf(DeviceKind kind) const { return *devices_.Find(kind); }
  const Device& DeviceOf(const planner::Entry& entry) const {
    return DeviceOf(entry.kernel->device());
  }

  /// While set, conversions that are not measured count at twice their bounds.
  void set_measured_only(bool only) { measured_only_ = only; }
  /// Assumes of what is not measured that it comes no nearer to its bound than what is
  /// (Efficiency).
  void AssumeEfficiency(double share) { efficiency_.set_share(share); }
  /// Bans choices by their keys.
  void Ban(const std::set<std::string>& keys) { banned_ = keys; }
  /// What stands for a conversion in one process.
  std::string KeyText(const Shape& shape, const State& from, const State& to, int threads) const;

  RowKey KernelKey(const planner::Kind& kind, const planner::Entry& entry,
                   const kernels::Params& params) const;

  /// How many different entries and conversions were asked for, and how many rows the store had.
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
  /// Of an entry, whatever its parameters.
  struct Bounded {
    double us = 0;                 // roofline
    std::array<int, 2> ways = {};  // of Efficiency
  };
  const Bounded& BoundedOf(const planner::Kind& kind, const planner::Entry& entry);
  void LearnShare(double prior_us, const Row& row);
  Known& Recall(const RowKey& key, double bound_us, const std::array<std::string, 2>& ways);
  void LearnEfficiency(const Known& known);
  void Relearn(Known& known, const Row& row);
  planner::EntryCost FromRow(const Row& row, double bound);
  RowKey KeyOfConversion(const Shape& shape, const State& from, const State& to, int threads) const;

  DeviceSet devices_;
  Store& store_;
  bool cold_constants_;
  Ceilings ceilings_;
  std::map<DeviceKind, Ceilings> ceilings_beside_cpu_;
  std::unordered_map<std::string, Known> memory_;
  std::unordered_map<const planner::Entry*, Bounded> bounded_;
  Efficiency efficiency_;
  /// Kernels that were faster than their bound: theirs count for nothing.
  std::set<std::string_view> unbounded_;
  bool measured_only_ = false;
  std::set<std::string> banned_;
  int64_t asked_ = 0, known_ = 0, priors_ = 0;
  /// At which part of their times priors count.
  double prior_share_ = 0.85;
};

}  // namespace fettle::tuner
