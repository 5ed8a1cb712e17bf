// From chosen groups to a solution.
#pragma once

#include <vector>

#include "solver/encode/conversions.h"

namespace fettle::solver {

/// `picks` with the conversions that serve them at the least priced cost. `bound` is left 0. Fails
/// with kUnsupported where a state that is needed cannot be made.
Result<Solution> Complete(const Problem& problem, std::vector<Pick> picks, const Prices& prices);

}  // namespace fettle::solver
