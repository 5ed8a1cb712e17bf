// Plans whose inputs and outputs lie in a device's memory.
#pragma once

#include <optional>
#include <vector>

#include "exec/plan.h"

namespace fettle::exec {

/// What memory the caller binds: one entry per graph input and output, nothing where it stays the
/// host's. `copied`, per output: writes it by a conversion of its own even where a step could write
/// it directly.
struct BoundStates {
  std::vector<std::optional<State>> inputs, outputs;
  std::vector<bool> copied;
};

/// `plan` from and to the bound states: where a step takes or gives the same state nothing lies
/// between, elsewhere a conversion does. Outputs that are constants cannot be bound. kUnsupported
/// where the device has no such conversion.
Result<Plan> BindPlan(Plan plan, const BoundStates& bound);

}  // namespace fettle::exec
