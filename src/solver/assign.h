// Solving a network by the method that suits it.
#pragma once

#include "solver/exact/eliminate.h"
#include "solver/network/network.h"
#include "solver/solve.h"

namespace fettle::solver {

struct Assigned {
  Assignment values;
  Cost cost = kForbidden;   // kForbidden: no assignment is allowed, or none was found
  Cost bound = kForbidden;  // nothing costs less
};

/// Methods "auto", "ve", "sweep", "capped" and "pbqp" of Options. `order` is what FindOrder says of
/// `network`. Stops by `until_ns` (on the clock of NowNs) with what it has. Adds to `report` what
/// was done, the largest of all calls.
Result<Assigned> Assign(const Network& network, EliminationOrder order, const Options& options,
                        int64_t until_ns, Report& report);

}  // namespace fettle::solver
