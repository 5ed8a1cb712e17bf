// The reductions of partitioned boolean quadratic programming, for comparison: variables with up to
// two neighbours are eliminated exactly; where there are none, the busiest one gets the value that
// looks best from where it stands.
#pragma once

#include "solver/network/network.h"

namespace fettle::solver {

/// An assignment, not always the best; empty where the guesses end in forbidden combinations.
/// Factors are over two variables.
Assignment ReduceAndGuess(const Network& network);

}  // namespace fettle::solver
