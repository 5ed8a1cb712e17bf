// A file, or all videos and pictures of a folder one after another.
#pragma once

#include "job/plan.h"

namespace fettle::enhance {

/// One set of options for each video and picture of the folder, by name; results go to the folder
/// `output` under the names that UsualOutput gives, without its ending where the folder is another.
/// Throws Failure (kExitInvalidInput) where there is none.
std::vector<JobOptions> JobsOf(const JobOptions& options);

}  // namespace fettle::enhance
