// What variables hold over time, put into a form in which only steps that matter are left.
#pragma once

#include <vector>

#include "solver/limited.h"

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
/// capacity, and those that a neighbour implies. `step_of` gives for each step that is left its old
/// number.
LimitedNetwork CompressSteps(const LimitedNetwork& problem, std::vector<int>* step_of);

}  // namespace fettle::solver
