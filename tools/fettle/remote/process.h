// Another program, run to its end: ssh and adb.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"

namespace fettle::tools {

/// What a program is given and what becomes of what it prints.
struct ProcessStreams {
  /// A file for standard input; empty: nothing to read.
  std::string input;
  /// A file that takes standard output; empty: `on_line` gets its lines.
  std::string output;
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
/// is no such program, kInternal where a file of `streams` cannot be opened.
Result<ProcessEnd> RunProcess(const std::vector<std::string>& command,
                              const ProcessStreams& streams);

}  // namespace fettle::tools
