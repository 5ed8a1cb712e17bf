#include "solver/network/factor_rules.h"

#include <algorithm>
#include <cmath>

namespace fettle::solver {
namespace {

std::vector<int> Domains(const FactorGraph& graph, const Factor& factor) {
  std::vector<int> domains;
  for (const int v : factor.scope) domains.push_back(graph.domain(v));
  return domains;
}

/// The least that value `a` costs more than `b` in a table, whatever the other variables are.
Cost LeastExcess(const std::vector<Cost>& table, const Axis& axis, size_t a, size_t b) {
  Cost least = kForbidden;
  for (size_t outer = 0; outer < axis.outer; ++outer) {
    const Cost* costs_a = &table[(outer * axis.domain + a) * axis.inner];
    const Cost* costs_b = &table[(outer * axis.domain + b) * axis.inner];
    for (size_t i = 0; i < axis.inner; ++i) {
      if (costs_a[i] < kForbidden) least = std::min(least, costs_a[i] - costs_b[i]);
    }
  }
  return least;
}

}  // namespace

Axis AxisOfVariable(const FactorGraph& graph, const Factor& factor, int variable) {
  const auto place = std::find(factor.scope.begin(), factor.scope.end(), variable);
  return AxisOf(Domains(graph, factor), Index(static_cast<int>(place - factor.scope.begin())));
}

std::vector<char> Supported(const FactorGraph& graph, int v) {
  std::vector<char> flags;
  for (const Cost cost : graph.unary(v)) flags.push_back(cost < kForbidden);
  for (const int index : graph.factors(v)) {
    const Factor& factor = graph.factor(index);
    const std::vector<Cost> least = MinAlong(factor.table, AxisOfVariable(graph, factor, v));
    for (size_t x = 0; x < flags.size(); ++x) flags[x] &= least[x] < kForbidden;
  }
  return flags;
}

std::vector<int> FunctionOf(const FactorGraph& graph, const Factor& factor, int source) {
  const bool by_row = factor.scope[0] == source;
  const size_t columns = Index(graph.domain(factor.scope[1]));
  std::vector<int> function(Index(graph.domain(source)), -1);
  for (size_t entry = 0; entry < factor.table.size(); ++entry) {
    if (factor.table[entry] == kForbidden) continue;
    const size_t row = entry / columns;
    const size_t column = entry % columns;
    int& value = function[by_row ? row : column];
    if (value >= 0) return {};
    value = static_cast<int>(by_row ? column : row);
  }
  // A value without an allowed pair cannot be chosen, so whatever it would give is as good.
  for (int& value : function) value = std::max(value, 0);
  return function;
}

bool GrowsTooMuch(const FactorGraph& graph, int target, int source) {
  const int from = graph.domain(target);
  const int to = graph.domain(source);
  if (from == to) return false;
  size_t entries = 0;
  for (const int index : graph.factors(target)) entries += graph.factor(index).table.size();
  entries -= Index(from * to);  // their own
  return entries / Index(from) * Index(to) > 2 * entries + 64;
}

size_t Ties(const FactorGraph& graph, int variable) {
  return graph.factors(variable).size() + graph.held(variable).size();
}

bool IsSum(const FactorGraph& graph, const Factor& factor) {
  const size_t columns = Index(graph.domain(factor.scope[1]));
  const std::vector<Cost>& table = factor.table;
  for (size_t entry = 0; entry < table.size(); ++entry) {
    if (table[entry] == kForbidden) return false;
    const Cost row = table[entry / columns * columns];
    const Cost column = table[entry % columns];
    const Cost size = std::abs(table[entry]) + std::abs(row) + std::abs(column);
    if (std::abs(table[entry] - row - column + table[0]) > 1e-12 * size) return false;
  }
  return true;
}

bool StandsIn(const FactorGraph& graph, int v, const std::vector<Held>& held, size_t a, size_t b) {
  for (const Held& one : held) {
    if (one.bytes[b] > one.bytes[a]) return false;
  }
  Cost excess = graph.unary(v)[a] - graph.unary(v)[b];
  for (const int index : graph.factors(v)) {
    const Factor& factor = graph.factor(index);
    excess += LeastExcess(factor.table, AxisOfVariable(graph, factor, v), a, b);
    if (excess == -kForbidden) return false;
  }
  return excess >= 0;
}

bool HoldsTheSame(const FactorGraph& graph, int v) {
  const std::vector<Held>& held = graph.held(v);
  return std::all_of(held.begin(), held.end(), [](const Held& one) {
    return std::equal(one.bytes.begin() + 1, one.bytes.end(), one.bytes.begin());
  });
}

std::vector<Cost> CostsGiven(const FactorGraph& graph, int v, const std::vector<int>& scope,
                             const std::vector<int>& values) {
  std::vector<Cost> costs = graph.unary(v);
  for (const int index : graph.factors(v)) {
    const Factor& factor = graph.factor(index);
    size_t entry = 0;
    size_t stride = 0;
    for (const int w : factor.scope) {
      const size_t domain = Index(graph.domain(w));
      entry *= domain;
      stride = w == v ? 1 : stride * domain;
      if (w != v) entry += Index(values[w == scope[0] ? 0 : 1]);
    }
    for (size_t x = 0; x < costs.size(); ++x) costs[x] += factor.table[entry + x * stride];
  }
  return costs;
}

}  // namespace fettle::solver
