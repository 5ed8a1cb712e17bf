// Makes stages for input shapes from stages for near ones, sharing all that does not depend on
// extents.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "exec/near_programs.h"
#include "passes/repeated_sweep.h"
#include "runtime/context.h"
#include "runtime/stage.h"

namespace fettle::runtime {

/// For one graph whose inputs change their extents alone; its operators and their kernels stay. A
/// few stages are kept as examples. A stage near an example is made from it: shapes are inferred,
/// kernels whose operands have other extents are prepared, memory is laid out. No pass runs and no
/// kernel is matched, except that passes that depend on extents run for each shape where they are
/// worth their time. Graphs with control flow, or with nodes that wait for data, have no such
/// stages. Belongs to one thread.
class NearStages {
 public:
  explicit NearStages(std::shared_ptr<const ir::Graph> graph) : graph_(std::move(graph)) {}

  /// A stage for inputs of these types and shapes. Null where Stage::Prepare has to make it,
  /// as for the first shape if none of its open extents is above 1.
  std::unique_ptr<Stage> Find(std::span<const Tensor> inputs, Context& context,
                              passes::PassHistory& passes);

  /// A stage that nobody runs any more: Find uses its kernels for the next stage where it can.
  void TakeApart(std::unique_ptr<Stage> stage) { spare_ = stage->program(); }

 private:
  struct Example {
    std::shared_ptr<const exec::Extents> extents;            // of all values
    std::vector<bool> ones;                                  // which of the inputs' are 1
    double elements = 0;                                     // of what is computed
    std::vector<std::shared_ptr<const Constant>> constants;  // those that follow, by value
    std::shared_ptr<const Stage> stage;
    std::vector<ir::ValueId> values;  // of the sweep's graph, by value of the stage's
    std::shared_ptr<exec::NearPrograms> programs;
    std::vector<ir::NodeId> references;  // that are short here, of the sweep's graph
    /// The graph after passes, which was planned instead; null: no pass was needed.
    std::shared_ptr<const ir::Graph> spelt;
    planner::Limits limits;
    int64_t last_use = 0;
  };
  /// The swept graph, after passes.
  struct Spelt {
    std::shared_ptr<const ir::Graph> graph;
    std::shared_ptr<const exec::Extents> extents;
  };

  /// Sweeps the graph for these inputs.
  Status Sweep(std::span<const Tensor> inputs);
  /// Passes that see the types which the first sweep has found, once for all extents.
  Status TidyTyped();
  /// How far the extents of the swept graph are from these; 0: not near, or null.
  double DistanceFrom(const std::shared_ptr<const exec::Extents>& extents) const;
  /// The examples from which the swept graph's stage may be made, nearest first.
  std::vector<std::pair<double, Example*>> NearExamples(const planner::Limits& limits);
  /// Whether an input has an extent of 1 where none of `near` has one, or the reverse, and the last
  /// few sweeps, or many before, had the same ones: kernels for one row are different, and a caller
  /// that runs one word after the other needs them many times.
  bool IsOfOtherOnesAgain(std::span<const std::pair<double, Example*>> near);
  Result<std::unique_ptr<Stage>> MakeLike(Example& example, Context& context,
                                          passes::PassHistory& passes);
  /// What was swept after the chosen passes (empty: all).
  Result<ir::Graph> AfterPasses(const std::vector<bool>& chosen, passes::PassHistory& passes) const;
  /// spelt_; passes run once for each sweep.
  Result<const Spelt*> Spell(passes::PassHistory& passes);
  void SetSpelt(ir::Graph graph);
  /// kUnsupported where passes make a different graph at these extents.
  Result<exec::NearGraph> SpeltNearTo(const Example& example, passes::PassHistory& passes);
  /// Plans the graph, as it was swept or as passes left it, and keeps it as an example.
  Result<std::unique_ptr<Stage>> MakeExample(Context& context, passes::PassHistory& passes);
  /// Keeps a stage of the graph as it was swept as an example.
  Result<std::unique_ptr<Stage>> KeepSwept(std::unique_ptr<Stage> made, const Context& context);
  /// `live`: the nodes of `graph` that `made` computes.
  Status KeepExample(const Stage& made, const ir::Graph& graph, std::span<const ir::NodeId> live,
                     const planner::Limits& limits);
  /// Sets extents_ and elements_ from the swept graph.
  void ReadExtents();
  exec::NearGraph NearTo(const Example& example) const;

  std::shared_ptr<const ir::Graph> graph_;
  std::optional<passes::RepeatedSweep> sweep_;
  std::shared_ptr<const exec::Extents> extents_;  // of what was swept
  double elements_ = 0;
  Spelt spelt_;  // of what was swept; null: not yet
  /// The passes that make spelt_ (empty: all), once an example needs it.
  std::optional<std::vector<bool>> spelling_;
  std::shared_ptr<const exec::Extents> refused_;  // the last that made no example; null: none
  std::vector<Example> examples_;
  std::vector<bool> other_ones_;  // the last that no example had
  int ones_in_a_row_ = 0;
  std::map<std::vector<bool>, int> times_of_ones_;
  std::shared_ptr<const exec::Program> spare_;
  int64_t uses_ = 0;
  bool is_off_ = false, is_tidy_ = false;
};

}  // namespace fettle::runtime
