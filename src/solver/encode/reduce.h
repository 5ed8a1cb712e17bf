// Dominance: which choices some optimal solution can do without.
#pragma once

#include <vector>

#include "solver/problem/problem.h"

namespace fettle::solver {

/// By group: indices of the choices that stay, ascending.
using Kept = std::vector<std::vector<int>>;

Kept KeepAll(const Problem& problem);

/// Drops a choice where another one of its group, with the conversions that let it stand in
/// (what it reads made from what the dropped one read, what the dropped one wrote made from what it
/// writes), is no slower; with an error budget also no less exact. With a memory limit only choices
/// of equal states are compared, by workspace too. The optimum stays what it was.
Kept DropDominated(const Problem& problem, Kept kept);

}  // namespace fettle::solver
