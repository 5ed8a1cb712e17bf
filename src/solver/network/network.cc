#include "solver/network/network.h"

#include <algorithm>

namespace fettle::solver {
namespace {

bool AllCosts(const std::vector<Cost>& table) {
  return std::all_of(table.begin(), table.end(), [](Cost cost) { return cost >= 0; });
}

Status ValidateFactor(const Network& network, size_t index) {
  const Factor& factor = network.factors[index];
  if (factor.scope.size() < 2) {
    return InvalidArgument("factor {}: expected a scope of two variables or more", index);
  }
  for (size_t i = 0; i < factor.scope.size(); ++i) {
    const int v = factor.scope[i];
    if (v < 0 || v >= network.variables()) {
      return InvalidArgument("factor {}: no variable {}", index, v);
    }
    if (i > 0 && factor.scope[i - 1] >= v) {
      return InvalidArgument("factor {}: variables are not in ascending order", index);
    }
  }
  if (TableEntries(network, factor.scope) != static_cast<double>(factor.table.size())) {
    return InvalidArgument("factor {}: table of {} entries does not fit its scope", index,
                           factor.table.size());
  }
  if (!AllCosts(factor.table)) {
    return InvalidArgument("factor {}: an entry is negative or not a number", index);
  }
  return OkStatus();
}

}  // namespace

size_t EntryOf(const Network& network, const Factor& factor, const Assignment& values) {
  size_t entry = 0;
  for (const int v : factor.scope) {
    entry = entry * network.domain(v) + values[v];
  }
  return entry;
}

Cost Sum(const Network& network, const Assignment& values) {
  Cost sum = network.constant;
  for (size_t v = 0; v < network.unary.size(); ++v) {
    sum += network.unary[v][values[v]];
  }
  for (const Factor& factor : network.factors) {
    sum += factor.table[EntryOf(network, factor, values)];
  }
  return sum;
}

double TableEntries(const Network& network, std::span<const int> scope) {
  double entries = 1;
  for (const int v : scope) entries *= network.domain(v);
  return entries;
}

std::vector<std::vector<int>> FactorsByVariable(const Network& network) {
  std::vector<std::vector<int>> factors(network.unary.size());
  for (size_t f = 0; f < network.factors.size(); ++f) {
    for (const int v : network.factors[f].scope) {
      factors[v].push_back(static_cast<int>(f));
    }
  }
  return factors;
}

Status Validate(const Network& network) {
  for (size_t v = 0; v < network.unary.size(); ++v) {
    if (network.unary[v].empty()) return InvalidArgument("variable {}: no value", v);
    if (!AllCosts(network.unary[v])) {
      return InvalidArgument("variable {}: a cost is negative or not a number", v);
    }
  }
  for (size_t f = 0; f < network.factors.size(); ++f) {
    RETURN_IF_ERROR(ValidateFactor(network, f));
  }
  return OkStatus();
}

}  // namespace fettle::solver
