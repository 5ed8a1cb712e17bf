#include "solver/limits/budget.h"

#include <algorithm>
#include <cmath>

#include "solver/encode/complete.h"
#include "solver/encode/encode.h"
#include "solver/exact/elimination_order.h"
#include "solver/exact/frontier.h"
#include "solver/problem/evaluate.h"

namespace fettle::solver {
namespace {

constexpr int kMostPrices = 60;
constexpr double kMostSums = 1 << 22;

double Slack(double value) { return 1e-9 * (1 + std::abs(value)); }

/// Each entry of `both` is the sum of those of `costs` and `errors`: some conversions are best in
/// both time and error.
bool IsSum(const std::vector<Cost>& both, const std::vector<Cost>& costs,
           const std::vector<Cost>& errors) {
  for (size_t i = 0; i < both.size(); ++i) {
    const Cost sum = costs[i] + errors[i];
    if (both[i] != sum && !(both[i] <= sum + Slack(sum))) return false;
  }
  return true;
}

bool IsSum(const Network& both, const Network& costs, const Network& errors) {
  for (size_t v = 0; v < both.unary.size(); ++v) {
    if (!IsSum(both.unary[v], costs.unary[v], errors.unary[v])) return false;
  }
  for (size_t f = 0; f < both.factors.size(); ++f) {
    if (!IsSum(both.factors[f].table, costs.factors[f].table, errors.factors[f].table))
      return false;
  }
  return IsSum({both.constant}, {costs.constant}, {errors.constant});
}

}  // namespace

Result<PricedBudget> PriceBudget(const Problem& problem, const Kept& kept,
                                 const PricedSolve& solve) {
  const double budget = problem.error_budget;
  const auto fits = [&](const Solution& s) { return s.error <= budget * (1 + kErrorSlack); };
  ASSIGN_OR_RETURN(Solution over, solve(kept, {}));
  const Cost free_bound = over.bound;
  if (fits(over)) return PricedBudget{0, over, free_bound};
  ASSIGN_OR_RETURN(Solution within, solve(kept, {.time = 0, .error = 1}));
  if (!fits(within)) return Unsupported("no cover keeps the error budget of {}", budget);
  PricedBudget priced{0, within, free_bound};
  for (int i = 0; i < kMostPrices; ++i) {
    // The price at which both ends of the hull cost the same: is anything below them?
    const double price = (within.cost - over.cost) / (over.error - within.error);
    if (!(price > 0) || !std::isfinite(price)) break;
    ASSIGN_OR_RETURN(Solution next, solve(kept, {.error = price}));
    const Cost line = within.cost + price * within.error;
    if (next.bound - price * budget > priced.bound) {
      priced.bound = next.bound - price * budget;
      priced.price = price;
    }
    if (fits(next) && next.cost < priced.best.cost) priced.best = next;
    if (next.cost + price * next.error >= line - Slack(line)) break;
    (fits(next) ? within : over) = std::move(next);
  }
  return priced;
}

std::optional<Solution> SolveWithinBudget(const Problem& problem, const Kept& kept,
                                          const PricedBudget& priced) {
  const Result<Encoding> costs = Encode(problem, kept, {});
  const Result<Encoding> errors = Encode(problem, kept, {.time = 0, .error = 1});
  const Result<Encoding> both = Encode(problem, kept, {.error = 1});
  if (!costs.ok() || !errors.ok() || !both.ok()) return std::nullopt;
  if (!IsSum(both->network, costs->network, errors->network)) return std::nullopt;
  const EliminationOrder order = FindOrder(costs->network);
  if (order.sums > kMostSums) return std::nullopt;
  const Cost most = priced.best.cost + priced.price * problem.error_budget;
  const std::optional<Assignment> values =
      CheapestWithin(problem.error_budget, costs->network, errors->network, order,
                     {.price = priced.price, .most = most + Slack(most)});
  if (!values) return std::nullopt;
  Result<Solution> solution = Complete(problem, PicksOf(*costs, *values), {.error = 1});
  if (!solution.ok()) return std::nullopt;
  solution->bound = solution->cost;
  return std::move(solution).value();
}

}  // namespace fettle::solver
