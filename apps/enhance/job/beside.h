// Files that a job writes beside its output.
#pragma once

#include "job/plan.h"

namespace fettle::enhance {

/// Throws Failure where `file`, which is to hold `what`, is the input or the output, is a folder or
/// in none, or is there already and may not be replaced.
void CheckBeside(const JobOptions& options, const Plan& plan, const std::filesystem::path& file,
                 std::string_view what);

}  // namespace fettle::enhance
