// Plans whose inputs and outputs lie in a device's memory.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "exec/plan.h"

namespace fettle::exec {

/// A tensor of the caller's that a run fills with a value that exists anyway: one more output of
/// the plan, behind its own.
struct BoundCopy {
  enum class Of { kInput, kOutput, kConstant };
  Of of = Of::kInput;
  size_t index = 0;  // of the plan's own inputs or outputs
  State state;       // of the caller's tensor
  /// A constant, which is one more input of the plan: row-major in memory of the device of `state`.
  Shape shape;
  DType dtype = DType::kUndefined;
};

/// What memory the caller binds: one entry per graph input and output, nothing where it stays the
/// host's. `copied`, per output: writes it by a conversion of its own even where a step could write
/// it directly.
struct BoundStates {
  std::vector<std::optional<State>> inputs, outputs;
  std::vector<bool> copied;
  std::vector<BoundCopy> copies;
};

/// `plan` from and to the bound states: where a step takes or gives the same state nothing lies
/// between, elsewhere a conversion does. Outputs that are constants cannot be bound. kUnsupported
/// where the device has no such conversion.
Result<Plan> BindPlan(Plan plan, const BoundStates& bound);

}  // namespace fettle::exec
