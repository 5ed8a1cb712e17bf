// A folder on a target that runs one job without a link, and goes away by itself.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "remote/link.h"

namespace fettle::tools {

/// What a folder on a target holds and does.
struct FolderState {
  enum class Job { kNone, kRunning, kDone };
  Job job = Job::kNone;
  std::string path;                      // on the target
  std::string owner;                     // who waits for the job
  bool has_runner = false;               // unpacked, whole
  std::map<std::string, int64_t> files;  // by name below `path`, those that came whole
};

/// How waiting for a job ended.
struct JobEnd {
  enum class Kind { kDone, kLost, kTaken };
  /// kLost: killed with its supervisor, or a folder given up; kTaken: another process waits for it.
  Kind kind = Kind::kLost;
  int exit_code = 0;
  std::map<std::string, int64_t> files;  // the results
};

/// Names below the folder.
inline constexpr const char* kRunnerFolder = "runner";
inline constexpr const char* kInputFolder = "in/";
inline constexpr const char* kDocumentFile = "out";
inline constexpr const char* kLogFile = "log";
inline constexpr const char* kRowsFile = "rows.jsonl";

/// Makes the folder `name`, mode 0700, where it is absent, and says what is there; from then on it
/// is `owner`, a word, that waits for it. kDeviceError where it belongs to another user or there is
/// no room.
Result<FolderState> PrepareFolder(Link& link, const std::string& name, const std::string& owner);
/// Starts the job: the program with `words`, in the folder `work`. It
/// outlives the link, and the folder keeps its results until nobody has asked for `hold_seconds`.
Status StartJob(Link& link, const FolderState& folder, const std::vector<std::string>& words,
                int hold_seconds);
/// Returns when the job is over.
Result<JobEnd> WaitForJob(Link& link, const FolderState& folder);
/// Asks the job to end early and keep what it has; WaitForJob then returns soon.
Status StopJob(Link& link, const FolderState& folder);
/// Ends what runs and removes the folder, unless another process waits for it by now.
Status RemoveFolder(Link& link, const FolderState& folder);

}  // namespace fettle::tools
