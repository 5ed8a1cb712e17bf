// What the store keeps of plans: decisions, and how the gate judged them. All of it belongs to the
// compiler and to the sources of the kernels that a decision uses.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "planner/decision.h"
#include "planner/plan_book.h"
#include "planner/plan_source.h"
#include "planner/regimes.h"
#include "tuner/model/chain_search.h"
#include "tuner/network/gate.h"
#include "tuner/store/store.h"

namespace fettle::tuner {

/// `text` behind a line with the source hashes of the kernels that `decision` uses, as the store
/// keeps what was learned of it.
std::string Stamp(const planner::Decision& decision, std::string_view text);
/// `text` again; kVersionMismatch, naming the kernel, where one is not of the same sources any
/// more, kCorrupt where there is no such line.
Result<std::string> Unstamp(std::string_view kept);

/// What the store keeps of a segment, and the plan that it comes to.
struct LearnedDecision {
  planner::Decision decision;
  exec::Plan plan;
};

/// Fails with kNotFound where nothing was kept, with kVersionMismatch or kCorrupt where that cannot
/// be used any more.
Result<LearnedDecision> FindLearned(const ir::Graph& segment, const DeviceSet& devices,
                                    const planner::Limits& limits, Store& store);
/// Keeps `decision`, whose text is planner::PrintDecision's.
void KeepLearned(const planner::DecisionKey& key, const planner::Decision& decision,
                 std::string_view text, Store& store);

/// Keeps how the gate judged the plan of `decision`; `plan` is its text without times.
void KeepVerdict(const planner::DecisionKey& key, const planner::Decision& decision,
                 std::string_view plan, const GateResult& gate, Store& store);
/// The same of exactly this plan: kNotFound where another or none was judged.
Result<GateResult> FindVerdict(const planner::DecisionKey& key, std::string_view plan,
                               Store& store);

/// Keeps which steps of the plan of `decision`, whose text is `plan`, were tried as one launch.
void KeepChains(const planner::DecisionKey& key, const planner::Decision& decision,
                std::string_view plan, const std::vector<TriedChain>& tried, Store& store);
/// The same of exactly this plan, or, where `plan` is empty, of the last one: kNotFound where those
/// of another or none were tried.
Result<std::vector<TriedChain>> FindChains(const planner::DecisionKey& key, std::string_view plan,
                                           Store& store);

/// One size of a tuned range, whose plan is kept as others are.
struct RangeSize {
  planner::DecisionKey key;
  std::vector<Shape> made_for;  // Decision::made_for
};
/// Keeps which sizes were tuned, in the place of those that were before.
void KeepRange(const std::vector<RangeSize>& sizes, Store& store);
/// The plans of the sizes that were tuned for graphs that differ from that of `key` in extents
/// alone; empty where there are none. Those whose kernels have changed are left out.
planner::TunedRange FindRange(const planner::DecisionKey& key, Store& store);

/// Plans by the decisions that a store keeps for this machine, for exactly a shape or for a range
/// that was tuned; by preference where it has none.
/// Thread-safe if the store is; the figures are those of the plans made so far.
class LearnedPlans final : public planner::PlanSource {
 public:
  explicit LearnedPlans(std::shared_ptr<Store> store) : store_(std::move(store)) {}
  Result<exec::Plan> PlanFor(const ir::Graph& segment, const DeviceSet& devices,
                             const planner::Limits& limits) override;
  /// How many segments took a decision from the store, and what those predict together.
  int found() const { return found_; }
  /// How many of them lie in a range, between the sizes that were tuned, and how many outside.
  int in_range() const { return in_range_; }
  int outside() const { return outside_; }
  double predicted_us() const { return predicted_us_; }

 private:
  /// What was not tuned at exactly this shape.
  Result<exec::Plan> FromRange(const planner::DecisionKey& key, const ir::Graph& segment,
                               const DeviceSet& devices, const planner::Limits& limits);

  std::shared_ptr<Store> store_;
  std::atomic<int> found_{0}, in_range_{0}, outside_{0};
  std::atomic<double> predicted_us_{0};
};

}  // namespace fettle::tuner
