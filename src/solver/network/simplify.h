// Exact reductions of a network: what is left is smaller and has the same optimum.
#pragma once

#include <vector>

#include "solver/network/limited.h"

namespace fettle::solver {

/// How the value of a removed variable follows from those of others. All values are those of the
/// original problem.
struct Removed {
  int variable = 0;
  std::vector<int> scope;
  std::vector<std::vector<int>> scope_values;  // by variable of the scope, in table order
  std::vector<int> value;                      // by combination, last variable fastest
};

struct Simplified {
  /// False: no assignment is allowed or fits; the rest means nothing.
  bool feasible = true;
  LimitedNetwork problem;
  /// Variables of `problem`: their old numbers and the old numbers of their values.
  std::vector<int> variable_of;
  std::vector<std::vector<int>> value_of;
  /// For each old step, the one of `problem` that stands for it; -1: none need.
  std::vector<int> new_step;
  std::vector<Removed> removed;  // in order of removal

  /// An assignment of the original problem, of the same cost.
  Assignment Restore(const Assignment& values) const;
};

/// Until nothing changes: drops values that no allowed assignment has (arc consistency), that do
/// not fit in memory beside the least that all others hold, or that another value can stand in for;
/// joins variables of which one is a function of the other; splits tables that are sums of their
/// rows and columns; eliminates variables that hold no memory and have at most two neighbours.
Simplified Simplify(const LimitedNetwork& problem);

}  // namespace fettle::solver
