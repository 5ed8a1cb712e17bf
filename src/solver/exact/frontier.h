// Variable elimination over two sums: tables whose entries are all pairs of cost and error that may
// still be part of the best assignment.
#pragma once

#include <optional>

#include "solver/exact/elimination_order.h"
#include "solver/network/network.h"

namespace fettle::solver {

/// No assignment within the budget costs more than `most` with errors at `price` each.
struct KnownPrice {
  double price = 0;
  Cost most = 0;
};

/// The cheapest assignment by `costs` whose sum of `errors`, a network of the same scopes, is
/// within `budget`; nothing where there is none or too many pairs come up.
std::optional<Assignment> CheapestWithin(double budget, const Network& costs, const Network& errors,
                                         const EliminationOrder& order, const KnownPrice& known);

}  // namespace fettle::solver
