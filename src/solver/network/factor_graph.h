// A network that shrinks: variables, values and factors can be taken away from it.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "solver/network/limited.h"

namespace fettle::solver {

/// A network under reduction. Holds at most one factor for a scope; a factor over one variable is
/// part of its unary table, one over none part of the constant.
class FactorGraph {
 public:
  explicit FactorGraph(const LimitedNetwork& problem);

  int variables() const { return static_cast<int>(unary_.size()); }
  bool gone(int variable) const { return gone_[Index(variable)]; }
  int domain(int variable) const { return static_cast<int>(unary_[Index(variable)].size()); }
  std::vector<Cost>& unary(int variable) { return unary_[Index(variable)]; }
  const std::vector<Cost>& unary(int variable) const { return unary_[Index(variable)]; }
  /// The values of the original variable that are left.
  const std::vector<int>& original(int variable) const { return original_[Index(variable)]; }
  const std::set<int>& factors(int variable) const { return incident_[Index(variable)]; }
  const Factor& factor(int index) const { return factors_[Index(index)]; }
  bool detached(int factor) const { return factors_[Index(factor)].scope.empty(); }
  int factor_count() const { return static_cast<int>(factors_.size()); }
  const std::vector<Held>& held(int variable) const { return held_[Index(variable)]; }
  Cost constant() const { return constant_; }

  /// Takes a factor out.
  Factor Detach(int factor);
  /// Adds a factor of ascending scope.
  void Attach(Factor factor);
  /// Leaves the values whose flag is set, at least one.
  void Keep(int variable, const std::vector<char>& flags);
  /// Variable `target` becomes a function of `source`: its value is value_of[value of source]. All
  /// that it costs and holds moves to `source`.
  void Substitute(int target, int source, const std::vector<int>& value_of);
  /// A variable of one value: what it costs and holds becomes constant.
  void Fix(int variable);
  /// Takes a variable out that has no factors left; it must hold the same bytes at all values.
  void Remove(int variable);

  /// What is left, its variables numbered anew in their old order: `kept` says their old numbers.
  LimitedNetwork Rest(std::vector<int>* kept) const;

 private:
  std::vector<std::vector<Cost>> unary_;
  std::vector<std::vector<int>> original_;
  std::vector<bool> gone_;
  std::vector<std::set<int>> incident_;
  std::vector<std::vector<Held>> held_;  // by variable
  std::vector<Factor> factors_;          // an empty scope: detached
  std::map<std::vector<int>, int> by_scope_;
  std::vector<int64_t> capacity_;
  Cost constant_ = 0;
};

/// For value k of the variable at `axis`: its entries are [(a * domain + k) * inner, + inner) of
/// the table, for each a < outer.
struct Axis {
  size_t outer = 1;
  size_t domain = 1;
  size_t inner = 1;
};
Axis AxisOf(const std::vector<int>& domains, size_t axis);

/// The least entry of each value of one axis.
std::vector<Cost> MinAlong(const std::vector<Cost>& table, const Axis& axis);

}  // namespace fettle::solver
