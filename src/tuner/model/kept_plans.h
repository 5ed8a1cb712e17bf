// Plans in the store: decisions, and the verdicts of the gate. Both are valid for one compiler and
// for the sources of a decision's kernels.
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

/// `text` behind a line with the source hashes of the kernels of `decision`: the form in the store.
std::string Stamp(const planner::Decision& decision, std::string_view text);
/// The text from that form; kVersionMismatch, naming the kernel, where a kernel's sources have
/// changed, kCorrupt without such a line.
Result<std::string> Unstamp(std::string_view kept);

/// The store's decision for a segment, and the plan made from it.
struct LearnedDecision {
  planner::Decision decision;
  exec::Plan plan;
};

/// kNotFound where nothing was kept; kVersionMismatch or kCorrupt where the entry can no longer be
/// used.
Result<LearnedDecision> FindLearned(const ir::Graph& segment, const DeviceSet& devices,
                                    const planner::Limits& limits, Store& store);
/// Keeps `decision`, whose text is planner::PrintDecision's.
void KeepLearned(const planner::DecisionKey& key, const planner::Decision& decision,
                 std::string_view text, Store& store);

/// Keeps the gate's verdict on the plan of `decision`; `plan` is its text without times.
void KeepVerdict(const planner::DecisionKey& key, const planner::Decision& decision,
                 std::string_view plan, const GateResult& gate, Store& store);
/// The verdict on exactly this plan; kNotFound where another plan or none was judged.
Result<GateResult> FindVerdict(const planner::DecisionKey& key, std::string_view plan,
                               Store& store);

/// Keeps which steps of the plan of `decision`, whose text is `plan`, were tried as one launch.
void KeepChains(const planner::DecisionKey& key, const planner::Decision& decision,
                std::string_view plan, const std::vector<TriedChain>& tried, Store& store);
/// The chains of exactly this plan, or of the last one where `plan` is empty; kNotFound where those
/// of another plan or none were tried.
Result<std::vector<TriedChain>> FindChains(const planner::DecisionKey& key, std::string_view plan,
                                           Store& store);

/// One size of a tuned range, whose plan is kept as others are.
struct RangeSize {
  planner::DecisionKey key;
  std::vector<Shape> made_for;  // Decision::made_for
};
/// Keeps which sizes were tuned, and replaces the earlier ones.
void KeepRange(const std::vector<RangeSize>& sizes, Store& store);
/// The plans of the sizes that were tuned for graphs that differ from that of `key` in extents
/// alone; empty where there are none. Those whose kernels have changed are left out.
planner::TunedRange FindRange(const planner::DecisionKey& key, Store& store);

/// Plans from the decisions in the store for this machine, for exactly this shape or a tuned range;
/// by preference where there are none. Thread-safe if the store is; the figures count the plans
/// made so far.
class LearnedPlans final : public planner::PlanSource {
 public:
  explicit LearnedPlans(std::shared_ptr<Store> store) : store_(std::move(store)) {}
  Result<exec::Plan> PlanFor(const ir::Graph& segment, const DeviceSet& devices,
                             const planner::Limits& limits) override;
  /// How many segments have a decision from the store, and the sum of their predicted times.
  int found() const { return found_; }
  /// How many of them lie within a tuned range, and how many outside.
  int in_range() const { return in_range_; }
  int outside() const { return outside_; }
  double predicted_us() const { return predicted_us_; }

 private:
  /// Segments that were not tuned at exactly this shape.
  Result<exec::Plan> FromRange(const planner::DecisionKey& key, const ir::Graph& segment,
                               const DeviceSet& devices, const planner::Limits& limits);

  std::shared_ptr<Store> store_;
  std::atomic<int> found_{0}, in_range_{0}, outside_{0};
  std::atomic<double> predicted_us_{0};
};

}  // namespace fettle::tuner
