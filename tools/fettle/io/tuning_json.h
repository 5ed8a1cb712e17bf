// The JSON files of other tuners: T1 (what to tune), T4 and Kernel Tuner's cache (what was
// measured).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "tuner/search/history.h"

namespace fettle::tools {

/// What a T1 file says of the search; the kernel itself is left to who runs it.
struct KernelSpec {
  std::string kernel;  // "" where the file does not name it
  std::vector<tuner::Parameter> parameters;
  std::vector<std::string> conditions;
};

/// Fails with kInvalidArgument naming file and place.
Result<KernelSpec> ReadKernelSpec(const std::string& path);

/// Measurements of a kernel on one device.
struct Recording {
  struct Row {
    std::vector<tuner::Value> values;  // in order of names
    std::optional<double> ms;          // none: the configuration failed
  };
  std::vector<std::string> names;
  std::vector<Row> rows;
};

/// T4 or Kernel Tuner cache, which may be compressed by gzip. Fails with kInvalidArgument naming
/// file and row.
Result<Recording> ReadRecording(const std::string& path);

/// The T4 text of evaluations, in order.
std::string PrintT4(const tuner::SearchSpace& space,
                    const std::vector<tuner::Evaluation>& evaluations);

}  // namespace fettle::tools
