#include "solver/exact/eliminate.h"

#include <algorithm>

#include "solver/network/factors.h"
#include "solver/network/minimum.h"

namespace fettle::solver {

Elimination::Elimination(const Network& network)
    : network_(network),
      factors_(network.factors),
      with_(FactorsByVariable(network)),
      taken_(network.unary.size(), false),
      constant_(network.constant) {}

void Elimination::Take(int variable) {
  const size_t v = variable;
  std::erase_if(with_[v], [&](int f) { return factors_[f].table.empty(); });
  std::vector<int> scope, joined;
  std::vector<const Factor*> factors;
  for (const int f : with_[v]) {
    const Factor& factor = factors_[f];
    factors.push_back(&factor);
    joined.clear();
    std::set_union(scope.begin(), scope.end(), factor.scope.begin(), factor.scope.end(),
                   std::back_inserter(joined));
    scope.swap(joined);
  }
  std::erase(scope, variable);
  Factor message{scope, {}};
  Memory& memory = memories_.emplace_back(Memory{variable, scope, {}});
  MinimiseOver(network_, variable, scope, std::move(factors), message.table, memory.best);
  for (const int f : with_[v]) factors_[f].table = {};
  taken_[v] = true;
  if (scope.empty()) {
    constant_ += message.table.front();
    return;
  }
  for (const int u : scope) {
    with_[u].push_back(static_cast<int>(factors_.size()));
  }
  factors_.push_back(std::move(message));
}

std::vector<int> Elimination::RestVariables() const {
  std::vector<int> rest;
  for (int v = 0; v < network_.variables(); ++v) {
    if (!taken_[v]) rest.push_back(v);
  }
  return rest;
}

Network Elimination::Rest() const {
  const std::vector<int> variables = RestVariables();
  const auto number_of = [&](int v) {
    return static_cast<int>(std::lower_bound(variables.begin(), variables.end(), v) -
                            variables.begin());
  };
  Network rest;
  rest.constant = constant_;
  for (const int v : variables) rest.unary.push_back(network_.unary[v]);
  for (const Factor& factor : factors_) {
    if (factor.table.empty()) continue;
    if (factor.scope.size() == 1) {
      std::vector<Cost>& unary = rest.unary[number_of(factor.scope[0])];
      for (size_t x = 0; x < unary.size(); ++x) unary[x] += factor.table[x];
      continue;
    }
    Factor& renamed = rest.factors.emplace_back(factor);
    for (int& v : renamed.scope) v = number_of(v);
  }
  MergeFactors(rest);
  return rest;
}

Assignment Elimination::Extend(const Assignment& rest) const {
  Assignment values(network_.unary.size(), 0);
  const std::vector<int> variables = RestVariables();
  for (size_t i = 0; i < variables.size(); ++i) {
    values[variables[i]] = rest[i];
  }
  for (size_t m = memories_.size(); m-- > 0;) {
    const Memory& memory = memories_[m];
    const size_t entry = EntryOf(network_, {memory.scope, {}}, values);
    values[memory.variable] = memory.best[entry];
  }
  return values;
}

Eliminated Eliminate(const Network& network, const EliminationOrder& order) {
  Elimination elimination(network);
  for (const int v : order.variables) elimination.Take(v);
  return {elimination.Rest().constant, elimination.Extend({})};
}

}  // namespace fettle::solver
