// The error budget, carried exactly: tables of elimination whose entries are not one cost but all
// pairs of cost and error that may still lead to the best solution.
#pragma once

#include <optional>

#include "solver/encode/branch.h"

namespace fettle::solver {

/// What a price on errors says: the best of all prices, found along the lower hull of cost over
/// error.
struct PricedBudget {
  double price = 0;
  Solution best;  // within the budget
  Cost bound = 0;
};

/// Fails with kUnsupported where no cover keeps the budget.
Result<PricedBudget> PriceBudget(const Problem& problem, const Kept& kept,
                                 const PricedSolve& solve);

/// The cheapest solution within the error budget; other limits, and groups that wait for each
/// other, are left out. Nothing where that takes too many pairs, or where conversions can trade
/// time for error, which the tables do not tell.
std::optional<Solution> SolveWithinBudget(const Problem& problem, const Kept& kept,
                                          const PricedBudget& priced);

}  // namespace fettle::solver
