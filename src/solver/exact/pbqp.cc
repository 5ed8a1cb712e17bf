#include "solver/exact/pbqp.h"

#include <algorithm>

#include "solver/exact/eliminate.h"

namespace fettle::solver {
namespace {

std::vector<int> Degrees(const Network& network) {
  std::vector<int> degrees(network.unary.size(), 0);
  for (const Factor& factor : network.factors) {
    for (const int v : factor.scope) ++degrees[v];
  }
  return degrees;
}

/// The value of `variable` of least cost if each neighbour could suit itself.
int LocallyBest(const Network& network, int variable) {
  std::vector<Cost> costs = network.unary[variable];
  for (const Factor& factor : network.factors) {
    const bool is_first = factor.scope[0] == variable;
    if (!is_first && factor.scope[1] != variable) continue;
    const int other = factor.scope[is_first ? 1 : 0];
    const std::vector<Cost>& theirs = network.unary[other];
    for (size_t x = 0; x < costs.size(); ++x) {
      Cost best = kForbidden;
      for (size_t y = 0; y < theirs.size(); ++y) {
        const size_t entry = is_first ? x * theirs.size() + y : y * costs.size() + x;
        best = std::min(best, factor.table[entry] + theirs[y]);
      }
      costs[x] += best;
    }
  }
  return static_cast<int>(std::min_element(costs.begin(), costs.end()) - costs.begin());
}

/// Leaves `variable` one value: all others are forbidden.
void Fix(Network& network, int variable, int value) {
  std::vector<Cost>& unary = network.unary[variable];
  for (size_t x = 0; x < unary.size(); ++x) {
    if (static_cast<int>(x) != value) unary[x] = kForbidden;
  }
  // A factor becomes a cost of the other variable alone.
  std::erase_if(network.factors, [&](const Factor& factor) {
    const bool is_first = factor.scope[0] == variable;
    if (!is_first && factor.scope[1] != variable) return false;
    std::vector<Cost>& other = network.unary[factor.scope[is_first ? 1 : 0]];
    const size_t x = value;
    for (size_t y = 0; y < other.size(); ++y) {
      other[y] += factor.table[is_first ? x * other.size() + y : y * unary.size() + x];
    }
    return true;
  });
}

/// Eliminates, again and again, variables of two neighbours or fewer.
std::vector<int> EasyVariables(const Network& network) {
  std::vector<int> easy;
  const EliminationOrder order = FindOrder(network);
  for (size_t i = 0; i < order.variables.size() && order.widths[i] <= 2; ++i) {
    easy.push_back(order.variables[i]);
  }
  return easy;
}

}  // namespace

Assignment ReduceAndGuess(const Network& network) {
  Elimination elimination(network);
  for (const int v : EasyVariables(network)) elimination.Take(v);
  Network rest = elimination.Rest();
  if (rest.unary.empty()) {
    return rest.constant == kForbidden ? Assignment() : elimination.Extend({});
  }
  const std::vector<int> degrees = Degrees(rest);
  const auto busiest =
      static_cast<int>(std::max_element(degrees.begin(), degrees.end()) - degrees.begin());
  Fix(rest, busiest, LocallyBest(rest, busiest));
  const Assignment values = ReduceAndGuess(rest);
  return values.empty() ? values : elimination.Extend(values);
}

}  // namespace fettle::solver
