// What follows a product of bytes where its result is not simply requantised.
#pragma once

#include <optional>

#include "kernels/cpu/elementwise/program.h"
#include "kernels/match/quantised_group.h"

namespace fettle::kernels {

/// The program behind the core; nothing where the result is requantised or is itself the output (in
/// f32 or i32). Fails with kUnsupported and the reason.
Result<std::optional<elementwise::Program>> CompileQuantTail(const ir::Graph& group,
                                                             const QuantisedGroup& q,
                                                             const StateAssignment& states);

}  // namespace fettle::kernels
