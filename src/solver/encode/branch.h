// What one cheapest assignment leaves open: limits, which it does not know, and groups that wait
// for each other. Limits are priced, prices raised where they are broken, and what is still open is
// branched over, best bound first.
#pragma once

#include <cstdint>
#include <functional>

#include "base/deadline.h"
#include "solver/encode/conversions.h"
#include "solver/encode/reduce.h"

namespace fettle::solver {

/// A cheapest solution among `kept` at these prices; `bound`: nothing priced costs less.
using PricedSolve = std::function<Result<Solution>(const Kept& kept, const Prices& prices)>;

struct BranchLimits {
  Deadline deadline{0};
  int solves = 2000;
  // What is known to begin with: prices, a solution that keeps the limits, a bound.
  Prices prices;
  Solution known{{}, {}, kForbidden, 0, 0};
  Cost bound = 0;
};

/// The cheapest solution that keeps the limits and can run, or the best found with its bound. Fails
/// with kUnsupported where there is none, or none was found.
Result<Solution> SolveByBranching(const Problem& problem, const Kept& kept,
                                  const PricedSolve& solve, const BranchLimits& limits);

}  // namespace fettle::solver
