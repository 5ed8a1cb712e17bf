// The minimum of a sum of tables over one variable.
#pragma once

#include <cstdint>
#include <vector>

#include "solver/network/network.h"

namespace fettle::solver {

/// By values of `scope`, which are the variables of `factors` but for `variable`, ascending: the
/// least sum of the factors and the unary costs of `variable`, and the value that it is for.
void MinimiseOver(const Network& network, int variable, const std::vector<int>& scope,
                  std::vector<const Factor*> factors, std::vector<Cost>& costs,
                  std::vector<uint16_t>& best);

}  // namespace fettle::solver
