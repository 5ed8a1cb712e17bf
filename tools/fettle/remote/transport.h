// How a target is reached: one row for each way, with the same contract.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace fettle::tools {

/// A way to a target, by a program of the system that the user has set up.
struct Transport {
  const char* name;  // "ssh"
  /// The words that have a POSIX shell on the target run `command`, one line of text; standard
  /// streams are the target's.
  std::vector<std::string> (*run)(const std::string& address, const std::string& command);
  /// The words that make `to` on the target of the local file `from`; where it is null, `run` gets
  /// the file as standard input.
  std::vector<std::string> (*push)(const std::string& address, const std::string& from,
                                   const std::string& to);
  /// The words that make the local file `to` of `from` on the target; where it is null, `run`
  /// prints it.
  std::vector<std::string> (*pull)(const std::string& address, const std::string& from,
                                   const std::string& to);
};

/// A target as the command line names it.
struct Target {
  const Transport* transport = nullptr;
  std::string text;     // "ssh:user@board"
  std::string address;  // "user@board"
};

/// `ssh:HOST`, `ssh://USER@HOST:PORT` or `adb:SERIAL`; kInvalidArgument for anything else.
Result<Target> ParseTarget(const std::string& text);

/// `text` as one word of a POSIX shell.
std::string ShellWord(std::string_view text);

}  // namespace fettle::tools
