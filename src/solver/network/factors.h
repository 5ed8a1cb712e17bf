// Building a network: variables and tables given by functions.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "solver/network/network.h"

namespace fettle::solver {

/// Returns the new variable.
inline int AddVariable(Network& network, std::vector<Cost> unary) {
  network.unary.push_back(std::move(unary));
  return network.variables() - 1;
}

/// Adds cost(x) to each value x of `variable`.
template <typename CostOf>
void AddUnary(Network& network, int variable, CostOf cost) {
  std::vector<Cost>& unary = network.unary[variable];
  for (size_t x = 0; x < unary.size(); ++x) unary[x] += cost(static_cast<int>(x));
}

/// Adds cost(x, y) to each pair of a value x of `a` and a value y of `b`, another variable.
template <typename CostOf>
void AddPair(Network& network, int a, int b, CostOf cost) {
  Factor factor;
  factor.scope = {std::min(a, b), std::max(a, b)};
  factor.table.reserve(int64_t{network.domain(a)} * network.domain(b));
  for (int first = 0; first < network.domain(factor.scope[0]); ++first) {
    for (int second = 0; second < network.domain(factor.scope[1]); ++second) {
      factor.table.push_back(a < b ? cost(first, second) : cost(second, first));
    }
  }
  network.factors.push_back(std::move(factor));
}

/// Adds cost(values) to each combination of values of `scope`, distinct variables in any order;
/// `values` are in the order of `scope`.
template <typename CostOf>
void AddTable(Network& network, const std::vector<int>& scope, CostOf cost) {
  Factor factor{scope, {}};
  std::sort(factor.scope.begin(), factor.scope.end());
  std::vector<size_t> place;  // in `scope`, of each variable of the factor
  for (const int v : factor.scope) {
    place.push_back(std::find(scope.begin(), scope.end(), v) - scope.begin());
  }
  std::vector<int> values(scope.size(), 0);
  const size_t entries = static_cast<size_t>(TableEntries(network, scope));
  for (size_t entry = 0; entry < entries; ++entry) {
    factor.table.push_back(cost(values));
    for (size_t i = place.size(); i-- > 0;) {
      if (++values[place[i]] < network.domain(factor.scope[i])) break;
      values[place[i]] = 0;
    }
  }
  network.factors.push_back(std::move(factor));
}

/// Adds up factors of equal scope.
void MergeFactors(Network& network);

}  // namespace fettle::solver
