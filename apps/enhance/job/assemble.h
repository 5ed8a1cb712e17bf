// The last pass: the segments' video and the input's other streams, packet by packet, in one file.
#pragma once

#include <stop_token>

#include "job/job_folder.h"

namespace fettle::enhance {

/// Writes `file` in the plan's container. Times are exactly those of the frames, decoding times
/// follow from them. Returns the frames of video written. Throws Failure.
int64_t Assemble(const Plan& plan, const JobFolder& folder, const std::filesystem::path& file,
                 std::stop_token stop);

}  // namespace fettle::enhance
