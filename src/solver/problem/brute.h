// Every cover with every choice and every set of conversions, one after the other: what the exact
// methods are checked against.
#pragma once

#include "solver/problem/problem.h"

namespace fettle::solver {

/// The cheapest solution that keeps the limits. Fails with kUnsupported where there is none, and
/// where the problem is too large for counting.
Result<Solution> SolveByBruteForce(const Problem& problem);

/// The cheapest conversions for given picks that keep the limits; the same failures.
Result<Solution> ConvertByBruteForce(const Problem& problem, const std::vector<Pick>& picks);

}  // namespace fettle::solver
