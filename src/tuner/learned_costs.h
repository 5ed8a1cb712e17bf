// Costs for the planner: what the store has learned, and roofline bounds for the rest.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "planner/cost_source.h"
#include "tuner/accelerator_roofline.h"
#include "tuner/roofline.h"
#include "tuner/store.h"

namespace fettle::tuner {

/// Remembers every answer, so that a problem that is extracted again asks the store nothing.
/// Rows that are priors count as unmeasured. Not synchronised.
class LearnedCosts final : public planner::CostSource {
 public:
  LearnedCosts(const DeviceSet& devices, Store& store);

  planner::EntryCost Kernel(const planner::Kind& kind, const planner::Entry& entry) override;
  planner::EntryCost Conversion(const Shape& shape, DType dtype, const State& from, const State& to,
                                int threads) override;

  /// What measuring gave; kept in the store too.
  void LearnKernel(const planner::Kind& kind, const planner::Entry& entry, const Row& row);
  void LearnConversion(const Shape& shape, DType dtype, const State& from, const State& to,
                       int threads, const Row& row);

  /// While set, what is not measured is banned.
  void set_measured_only(bool only) { measured_only_ = only; }

  RowKey KernelKey(const planner::Kind& kind, const planner::Entry& entry) const;

  /// How many different rows were asked for, and how many of them the store had.
  int64_t asked() const { return asked_; }
  int64_t known() const { return known_; }

 private:
  planner::EntryCost Answer(const planner::EntryCost& cost) const;
  planner::EntryCost FromRow(const Row& row, double bound);
  double Bound(const kernels::Work& work, DeviceKind device, int threads) const;
  RowKey KeyOfConversion(const Shape& shape, DType dtype, const State& from, const State& to,
                         int threads) const;

  DeviceSet devices_;
  Store& store_;
  Ceilings ceilings_;
  kernels::OpenClCeilings accelerator_ceilings_;
  std::unordered_map<std::string, planner::EntryCost> memory_;
  /// Kernels that were faster than their bound: theirs count for nothing.
  std::set<std::string_view> unbounded_;
  bool measured_only_ = false;
  int64_t asked_ = 0, known_ = 0;
};

}  // namespace fettle::tuner
