// What the store knows about kernels and conversions, and roofline bounds for the rest.
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

/// Remembers every answer about bounds and conversions, so that extracting a problem again asks the
/// store nothing. A row that is a prior counts as unmeasured, at a part of its time (prior_share):
/// candidates that could win or come close are measured again, candidates far behind are not.
/// Entries must stay where they are. Not synchronised.
class LearnedCosts final {
 public:
  /// `cold_constants`: as measured with MeasureOptions::cold_constants. Ceilings that the store
  /// lacks are probed unless that is `cancelled`.
  LearnedCosts(const DeviceSet& devices, Store& store, bool cold_constants = false,
               const std::atomic<bool>* cancelled = nullptr);

  /// The least time of an entry with any parameters, as far as is known by now.
  double KernelBound(const planner::Kind& kind, const planner::Entry& entry);
  /// The least time of `work` at the ceilings of a device.
  double Bound(const kernels::Work& work, DeviceKind device, int threads) const;
  /// The store's row for a kernel with these parameters; exact times teach bounds.
  Result<Row> FindKernel(const planner::Kind& kind, const planner::Entry& entry,
                         const kernels::Params& params);
  /// Counts an entry that was asked for, with the row that the store had.
  void CountEntry(const Result<Row>& row) {
    ++asked_;
    priors_ += row.ok() && row->prior ? 1 : 0;
  }
  planner::EntryCost Conversion(const Shape& shape, DType dtype, const State& from, const State& to,
                                int threads);

  /// Takes a measurement, and keeps it in the store. `prior_us`: what was known before; 0: nothing.
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
  /// Assumes that unmeasured entries come no nearer to their bounds than measured ones
  /// (Efficiency).
  void AssumeEfficiency(double share) { efficiency_.set_share(share); }
  /// Bans choices by their keys.
  void Ban(const std::set<std::string>& keys) { banned_ = keys; }
  /// The key of a conversion within one process.
  std::string KeyText(const Shape& shape, const State& from, const State& to, int threads) const;

  RowKey KernelKey(const planner::Kind& kind, const planner::Entry& entry,
                   const kernels::Params& params) const;

  /// How many different entries and conversions were asked for, and how many rows the store had.
  int64_t asked() const { return asked_; }
  int64_t known() const { return known_; }
  /// Rows that the store had only from another build, driver or protocol.
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
  /// Kernels that were faster than their bound: their bounds count for nothing.
  std::set<std::string_view> unbounded_;
  bool measured_only_ = false;
  std::set<std::string> banned_;
  int64_t asked_ = 0, known_ = 0, priors_ = 0;
  /// At which part of their times priors count.
  double prior_share_ = 0.85;
};

}  // namespace fettle::tuner
