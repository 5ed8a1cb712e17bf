// Outputs that need no work: those of an earlier run of the same folder, and those that
// --skip-existing keeps.
#pragma once

#include <optional>

#include "command/enhance.h"

namespace fettle::enhance {

/// The outcome of an input whose output is there already and stays; none where there is work to do
/// or to refuse.
std::optional<Outcome> OutcomeOfDone(const JobOptions& options);

}  // namespace fettle::enhance
