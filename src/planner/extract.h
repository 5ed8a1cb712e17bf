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
  /// Choices taken over from the default plan because all others are banned, a line each.
  std::vector<std::string> warnings;
};

/// Assumptions about costs that nobody has measured, so that fewer have to be measured.
struct Assumptions {
  /// A fused kernel is never slower than the same kernel on its first nodes followed by the rest.
  bool fusion_gains = false;
  /// Where one thread gained nothing in several kinds of groups, it gains nothing in larger ones.
  bool changes_repeat = false;
};

/// Limits of a plan besides time.
struct Bounds {
  /// The sum of the errors of all choices and conversions (shares of noise in power); negative: no
  /// limit.
  double error_budget = -1;
  /// The bytes that tensors and workspaces hold at any step, the caller's included; negative: no
  /// limit. Needs costs that give the workspaces of entries.
  int64_t memory_limit = -1;
};

/// Graph inputs exist row-major and external; graph outputs are wanted row-major. States with the
/// same bytes are one. Conversions are listed from each state in which a choice writes the value to
/// each in which one reads it. An error budget that even the worst choices keep is left out. Where
/// all entries of a node are banned, the entry of `preferred` stays at its bound, with a warning;
/// without `preferred` this fails with kUnsupported.
Result<Extracted> Extract(const ir::Graph& graph, const Catalogue& catalogue, CostSource& costs,
                          int threads, const Assumptions& assumptions = {},
                          const Bounds& bounds = {}, const Decision* preferred = nullptr);

/// Groups in an order in which they can run, with the costs that were solved with.
Decision ToDecision(const ir::Graph& graph, const Catalogue& catalogue, const Extracted& extracted,
                    const solver::Solution& solution, int threads);

}  // namespace fettle::planner
