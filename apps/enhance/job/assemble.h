// The last pass: the segments' video and the input's other streams, packet by packet, in one file.
#pragma once

#include <stop_token>

#include "job/job_folder.h"
#include "job/output.h"

namespace fettle::enhance {

struct Assembled {
  int64_t frames = 0;  // of video
  Written written;
};

/// Writes `file` in the plan's container. Times are exactly those of the frames, decoding times
/// follow from them. Throws Failure.
Assembled Assemble(const Plan& plan, const JobFolder& folder, const std::filesystem::path& file,
                   std::stop_token stop);

}  // namespace fettle::enhance
