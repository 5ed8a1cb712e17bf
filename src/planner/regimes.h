// Plans of a tuned range of shapes, and the choice among them for a shape.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "planner/decision.h"
#include "planner/plan_book.h"

namespace fettle::planner {

/// The plan that was tuned at one size of a range.
struct RangePlan {
  std::vector<Shape> made_for;  // Decision::made_for
  std::string text;             // PrintDecision
};

/// The part of a decision's text that tells plans apart: groups, kernels and states, without
/// parameters, threads and times.
std::string KernelsOf(std::string_view text);

/// Shapes of the inputs of `graph`, which are concrete.
std::vector<Shape> InputShapesOf(const ir::Graph& graph);

/// The plans of graphs that differ in extents alone, for one device and number of threads. Sizes
/// next to each other whose kernels are equal are one regime. Immutable.
class TunedRange {
 public:
  TunedRange() = default;
  /// In any order; plans whose shapes have other ranks than the last one's are left out.
  explicit TunedRange(std::vector<RangePlan> plans);
  /// The plans that `book` has for graphs of the structure of `key`; empty where they were not made
  /// for a range.
  static TunedRange Of(const PlanBook& book, const DecisionKey& key);

  bool empty() const { return plans_.empty(); }
  /// The smallest size first.
  const std::vector<RangePlan>& plans() const { return plans_; }
  /// The regime of each plan, from 0.
  const std::vector<int>& regimes() const { return regimes_; }
  /// Whether each extent lies between the least and the greatest that were tuned.
  bool Holds(const std::vector<Shape>& shapes) const;
  /// Indices of plans, the nearest size first, by the ratios of extents; empty where ranks differ.
  std::vector<size_t> Nearest(const std::vector<Shape>& shapes) const;

 private:
  /// The least and the greatest that were tuned.
  std::pair<int64_t, int64_t> ExtentsAt(size_t input, int axis) const;

  std::vector<RangePlan> plans_;
  std::vector<int> regimes_;
};

/// Plans of a range, and the steps that they share: for segments of one structure
/// (passes::Outline), with the same devices and threads. Thread-safe.
class RangePlans {
 public:
  explicit RangePlans(TunedRange range) : range_(std::move(range)), known_(range_.plans().size()) {}

  /// As PlanFromRange; at a tuned size it is the plan of that size.
  Result<exec::Plan> PlanFor(const ir::Graph& segment, const DeviceSet& devices, int threads);

 private:
  /// A decision as it was parsed, and steps of its plans.
  struct Known {
    Decision decision;
    std::vector<exec::PlannedStep> steps;
    int plans = 0;  // made so far: the second one prunes the steps
  };
  Result<exec::Plan> Carry(size_t index, const ir::Graph& segment, const DeviceSet& devices,
                           int threads);

  const TunedRange range_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<const Known>> known_;  // null: not asked for yet
};

/// The plan of the nearest size whose kernels all take the extents of `segment`; otherwise that of
/// the nearest size with usual parameters. Extents outside of the range are planned with a warning
/// in the log. Fails as Apply does.
Result<exec::Plan> PlanFromRange(const TunedRange& range, const ir::Graph& segment,
                                 const DeviceSet& devices, int threads);

/// "x 1x3x32x32 to 1x3x143x143, y 4": shapes of the inputs of `segment`.
std::string SizesText(const ir::Graph& segment, const std::vector<Shape>& from,
                      const std::vector<Shape>& to);

}  // namespace fettle::planner
