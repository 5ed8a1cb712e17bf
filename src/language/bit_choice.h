// Chooses a size for each item within a budget: the multiple-choice knapsack problem.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"

namespace fettle::language {

/// One option of a matrix: a type's bytes and damage.
struct SizeOption {
  int64_t bytes = 0;
  double damage = 0;  // finite, 0 or more
};

/// For each item the index of an option (every item has one), with the least sum of damage within
/// `limit` bytes. Exact: keeps the partial choices that no other beats in bytes and damage, without
/// those that a price on bytes proves too bad. kUnsupported where the smallest options do not fit.
Result<std::vector<int>> ChooseSizes(const std::vector<std::vector<SizeOption>>& items,
                                     int64_t limit);

}  // namespace fettle::language
