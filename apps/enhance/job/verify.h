// Reads the output again before a job is called done.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "job/assemble.h"

namespace fettle::enhance {

/// What was not kept, as the whole output shows.
struct Verified {
  std::vector<std::string> of_streams;  // instead of the plan's `moved_streams`
  std::string of_frames;                // beyond what the plan says; empty: nothing
};

/// Opens a file that the plan's output is to become, counts the packets of its video, decodes its
/// first frame, one of its middle and its last one, and compares all packets with those that were
/// written. Throws Failure (kExitFailed) where frames are not what was written.
Verified VerifyOutput(const Plan& plan, const std::filesystem::path& file,
                      const Assembled& assembled);

}  // namespace fettle::enhance
