// The parts of an extracted problem's solution, and the accuracy that they lose.
#pragma once

#include "tuner/network/slot_costs.h"
#include "tuner/network/tune.h"

namespace fettle::tuner {

/// A solution and what it was made from, which outlive it.
struct SolvedPlan {
  const ir::Graph& graph;
  const planner::Catalogue& catalogue;
  const planner::Extracted& extracted;
  const solver::Solution& solution;
};

/// Kind and entry of the catalogue that `pick` is.
std::pair<int, int> EntryIdOf(const planner::Catalogue& catalogue,
                              const planner::Extracted& extracted, const solver::Pick& pick);

/// A conversion of an extracted problem.
struct Copy {
  const ir::Value& value;
  const State& from;
  const State& to;
  double error;
};
Copy CopyOf(const ir::Graph& graph, const planner::Extracted& extracted, const solver::Made& made);

/// What the solution's choices and conversions lose, and what each saves against the fastest choice
/// of its group that loses nothing.
std::vector<Lossy> ListLossy(const SolvedPlan& plan, int threads, SlotCosts& costs);

}  // namespace fettle::tuner
