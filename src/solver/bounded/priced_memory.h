// What an assignment holds at each step, by how much it is too much, and what a byte costs there.
#pragma once

#include <cstdint>
#include <vector>

#include "solver/network/limited.h"

namespace fettle::solver {

/// Follows the assignment of a search. Keeps a reference to the problem.
class PricedMemory {
 public:
  /// `prices` of bytes by step; overloads cost `least` a byte or more.
  PricedMemory(const LimitedNetwork& problem, const std::vector<double>& prices,
               const Assignment& values, double least);

  /// Bytes over the capacities, of all steps, as of the last Sum.
  double overload() const { return overload_; }
  void Sum();
  /// Of an assignment that was undone.
  void set_overload(double overload) { overload_ = overload; }
  /// What a byte of overload costs.
  double weight() const { return weight_; }

  /// Heavier while nothing fits, lighter while all does; prices follow.
  void AdaptWeight();
  /// Adds to the costs of `variable`'s values what they hold costs.
  void AddPrices(int variable, std::vector<Cost>& costs) const;
  void Change(int variable, int old, int value);

 private:
  const LimitedNetwork& problem_;
  std::vector<std::vector<int>> held_of_;  // by variable
  std::vector<double> prices_;
  std::vector<double> price_sums_;  // of the steps before each, what overloads add included
  std::vector<int64_t> load_;
  double overload_ = 0, weight_ = 0, least_weight_ = 0;
};

}  // namespace fettle::solver
