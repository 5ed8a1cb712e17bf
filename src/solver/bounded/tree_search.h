// Local search on networks with memory limits: the values of whole trees of variables change at
// once.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/deadline.h"
#include "solver/network/limited.h"

namespace fettle::solver {

struct TreeSearchOptions {
  uint64_t seed = 1;
  int64_t moves = 10'000;
  int most_variables = 60;  // of a tree
  /// Temperatures of the first and the last move, in units of cost.
  Cost hottest = 1;
  Cost coolest = 0.01;
  Deadline deadline;
};

/// Simulated annealing. A move takes a random tree of the network (variables of which no two have a
/// common factor but along the tree), lets it take its best values given all others by dynamic
/// programming, under random noise of the temperature's size, and undoes that where it makes an
/// overload of memory worse by more than the temperature allows. `prices` (by step) make memory
/// cost something before it overloads; those of DualBound are good. Returns the cheapest
/// assignment seen that is allowed and fits, if any.
std::optional<Assignment> SearchByTrees(const LimitedNetwork& problem,
                                        const std::vector<double>& prices, Assignment start,
                                        const TreeSearchOptions& options);

}  // namespace fettle::solver
