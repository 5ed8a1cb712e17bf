// What was written is read again before a job is called done.
#pragma once

#include <filesystem>

#include "job/plan.h"

namespace fettle::enhance {

/// Opens a file that the plan's output is to become, counts the packets of its video and decodes
/// its first frame, one of its middle and its last one. Throws Failure (kExitFailed) where one of
/// them is not what was written.
void VerifyOutput(const Plan& plan, const std::filesystem::path& file, int64_t frames);

}  // namespace fettle::enhance
