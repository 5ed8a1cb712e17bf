// A file, or all videos and pictures of a folder one after another.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "job/plan.h"

namespace fettle::enhance {

struct Batch {
  std::vector<JobOptions> jobs;
  std::vector<std::string> left_out;     // a sentence for each kind of what is not among the jobs
  std::shared_ptr<FolderRecord> record;  // null for a file
};

/// A job for each video and picture of the folder, by name, with `recursive` those of its folders,
/// too; results go to the folder `output`, at the same places, under the names that UsualOutput
/// gives, without its ending. The folders of the outputs are made unless it is planned only.
/// Throws Failure (kExitInvalidInput) where there is none.
Batch BatchOf(const JobOptions& options);

}  // namespace fettle::enhance
