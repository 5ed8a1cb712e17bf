// In which order to sweep over the variables of a network.
#pragma once

#include <vector>

#include "solver/network/network.h"

namespace fettle::solver {

/// An order of all variables that keeps the combinations of live values few. The same for equal
/// networks.
std::vector<int> FindSweepOrder(const Network& network);

}  // namespace fettle::solver
