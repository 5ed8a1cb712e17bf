// Another program, run to its end: adb.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"

namespace fettle::tools {

/// What becomes of what a program prints. Nothing comes to its standard input.
struct ProcessStreams {
  /// Gets the lines of standard output as they come.
  std::function<void(const std::string&)> on_line;
  /// Once true, the program is killed.
  const std::atomic<bool>* cancel = nullptr;
};

struct ProcessEnd {
  int exit_code = 0;  // 128 + N where signal N ended it
  bool cancelled = false;
  /// The last line on standard error that says something.
  std::string complaint;
};

/// Starts `command` (its first word is looked for on the PATH) in a process group of its own, so
/// that Ctrl-C is the caller's to answer, and waits for it. Thread-safe. kUnsupported where there
/// is no such program.
Result<ProcessEnd> RunProcess(const std::vector<std::string>& command,
                              const ProcessStreams& streams);

}  // namespace fettle::tools
