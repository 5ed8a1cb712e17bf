// Explains a plan: for each group what was chosen, the best alternative, and what was rejected.
#pragma once

#include <string>
#include <vector>

#include "planner/extract.h"

namespace fettle::planner {

struct Explained {
  std::string node;  // names joined by '+'
  std::string op;
  std::string kernel;
  kernels::Params params;
  std::string proposed_by;  // what proposed them (Proposal::by); "" where nothing was measured
  int64_t evaluations = 0;  // sets of parameters that were measured
  int threads = 1;
  std::string state_in, state_out;  // of the first operand and result
  kernels::Work work;               // what the kernel does at least; nothing of a view
  double us = 0;                    // what the solver counted
  double alone_us = 0;              // what measuring it alone gave
  bool measured = false;
  int predicted = 0;  // EntryCost::predicted
  /// The cheapest other entry for the same nodes, whatever its states; empty: there was none.
  std::string runner_up;
  double runner_up_us = 0;
  bool runner_up_measured = false;
  int choices = 0;  // all entries of the kind of group
  std::vector<Rejection> rejected;
};

/// The operators of a group, joined by '+'.
std::string OpsOf(const ir::Graph& group);
std::string NamesOf(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes);

/// One entry of an instance's kind against the others, by what `costs` says of them.
Explained ExplainEntry(const ir::Graph& graph, const Instance& instance, const Kind& kind,
                       size_t chosen, CostSource& costs);

/// One per pick, in the order of the solution. Entries that `costs` bans are rejections too.
std::vector<Explained> Explain(const ir::Graph& graph, const Catalogue& catalogue,
                               const Extracted& extracted, const solver::Solution& solution,
                               CostSource& costs);

}  // namespace fettle::planner
