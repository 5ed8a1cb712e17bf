// What variables hold over time, put into a form in which only steps that matter are left.
#pragma once

#include <vector>

#include "solver/network/limited.h"

namespace fettle::solver {

/// `held` of one variable of `domain` values as ranges of steps that do not overlap, in order.
std::vector<Held> Flatten(const std::vector<Held>& held, int variable, int domain);

/// For each value, true where it may be part of a solution: where it fits beside the least that all
/// other variables hold.
struct FittingValues {
  bool fits_at_all = true;
  std::vector<std::vector<char>> flags;  // by variable and value
};
FittingValues FindFitting(const LimitedNetwork& problem);

/// The same problem with fewer steps. Each variable's `held` is flattened and holds nothing at its
/// least value, the difference taken from the capacity; steps are dropped that cannot exceed their
/// capacity, and those that a neighbour implies.
struct FewerSteps {
  LimitedNetwork problem;
  /// For each old step, the new one that stands for it; -1: it cannot exceed its capacity.
  std::vector<int> new_step;
};
FewerSteps CompressSteps(const LimitedNetwork& problem);

/// The steps where `values` exceed the capacity most: the worst of each range of such steps, `most`
/// at most. Empty where they fit.
std::vector<int> WorstSteps(const LimitedNetwork& problem, const Assignment& values, size_t most);

/// The relaxation that checks some steps only, given in ascending order.
LimitedNetwork OnlySteps(const LimitedNetwork& problem, const std::vector<int>& steps);

}  // namespace fettle::solver
