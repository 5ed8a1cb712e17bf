// One of several sizes for each of several things, within a budget: the multiple-choice knapsack.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"

namespace fettle::language {

/// What a matrix may become.
struct SizeOption {
  int64_t bytes = 0;
  double damage = 0;  // finite, 0 or more
};

/// The option of each item (none is without) that leaves the least sum of damage within `limit`
/// bytes: exact, by partial choices that no other beats in bytes and damage, less those that a
/// price on bytes proves too bad. kUnsupported where the smallest options do not fit.
Result<std::vector<int>> ChooseSizes(const std::vector<std::vector<SizeOption>>& items,
                                     int64_t limit);

}  // namespace fettle::language
