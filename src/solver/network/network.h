// A cost function network: variables over small domains and tables of costs over some of them.
// What every exact method works on; knows neither groups nor tensors.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "solver/problem/problem.h"

namespace fettle::solver {

/// Forbids a combination of values.
inline constexpr Cost kForbidden = std::numeric_limits<Cost>::infinity();

/// A cost for each combination of the values of `scope`: distinct variables in ascending order, the
/// last one fastest in `table`.
struct Factor {
  std::vector<int> scope;
  std::vector<Cost> table;
};

/// The sum of `constant`, one entry of each variable's unary table and one entry of each factor is
/// minimised. Entries are finite or kForbidden, and not negative.
struct Network {
  /// unary[v][x] is the cost of value x of variable v; its size is the domain of v, at least 1.
  std::vector<std::vector<Cost>> unary;
  /// Scopes of two variables or more; several factors may have the same scope.
  std::vector<Factor> factors;
  Cost constant = 0;

  int variables() const { return static_cast<int>(unary.size()); }
  int domain(int variable) const { return static_cast<int>(unary[variable].size()); }
};

/// One value per variable.
using Assignment = std::vector<int>;

/// The cost of an assignment; kForbidden where any entry is.
Cost Sum(const Network& network, const Assignment& values);

/// Position in `factor.table` of the entry that `values` picks.
size_t EntryOf(const Network& network, const Factor& factor, const Assignment& values);

/// Entries of a table over `scope`, as a double: may be far beyond what fits in memory.
double TableEntries(const Network& network, std::span<const int> scope);

/// For each variable, the indices of the factors whose scope holds it.
std::vector<std::vector<int>> FactorsByVariable(const Network& network);

/// Status of a network given from outside: domains not empty, scopes ascending and in range, table
/// sizes equal to the product of domains, no NaN or negative entry.
Status Validate(const Network& network);

}  // namespace fettle::solver
