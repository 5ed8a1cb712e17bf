// From a catalogue and costs to the solver's problem, and from its solution to a decision.
#pragma once

#include <memory>
#include <vector>

#include "planner/catalogue.h"
#include "planner/cost_source.h"
#include "planner/decision.h"
#include "solver/problem/problem.h"

namespace fettle::planner {

/// A solver problem and what its indices stand for. Group i is instance i of the catalogue.
struct Extracted {
  solver::Problem problem;
  /// By tensor: the value, and its states.
  std::vector<ir::ValueId> values;
  std::vector<std::vector<State>> states;
  /// By group and choice: the entry of its kind, whether its cost is a time rather than a bound,
  /// and of which parameters (null: the default ones). Banned entries are no choices.
  std::vector<std::vector<int>> entries;
  std::vector<std::vector<bool>> measured;
  std::vector<std::vector<std::shared_ptr<const Proposal>>> proposals;
  /// What is taken of the default plan because all else is banned, a line each.
  std::vector<std::string> warnings;
};

/// What may be taken for granted of costs that nobody has measured, so that fewer need measuring.
struct Assumptions {
  /// A fused kernel is never slower than the same kernel on its first nodes followed by the rest.
  bool fusion_gains = false;
  /// One thread that gained nothing in several kinds of groups gains nothing in larger ones.
  bool changes_repeat = false;
};

/// What a plan may cost beside time.
struct Bounds {
  /// Of the errors of all choices and conversions, summed up (shares of noise in power); negative:
  /// none.
  double error_budget = -1;
  /// Of the bytes that tensors and workspaces hold at any step, those of the caller included;
  /// negative: none. Needs costs that say what entries work in.
  int64_t memory_limit = -1;
};

/// Graph inputs exist row-major and external; graph outputs are wanted row-major. States that name
/// the same bytes are one. Conversions are listed from each state in which something writes the
/// value to each in which something reads it. An error budget that the worst choices keep is left
/// out. Where all entries of a node are banned, that of `preferred` stays at its bound, with a
/// warning; without one this fails with kUnsupported.
Result<Extracted> Extract(const ir::Graph& graph, const Catalogue& catalogue, CostSource& costs,
                          int threads, const Assumptions& assumptions = {},
                          const Bounds& bounds = {}, const Decision* preferred = nullptr);

/// Groups in an order in which they can run, with the costs that were solved with.
Decision ToDecision(const ir::Graph& graph, const Catalogue& catalogue, const Extracted& extracted,
                    const solver::Solution& solution, int threads);

}  // namespace fettle::planner
