// How a target is reached: one row for each way, with the same contract.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace fettle::tools {

struct Transport;

/// A target as the command line names it.
struct Target {
  const Transport* transport = nullptr;
  std::string text;     // "ssh:user@board"
  std::string address;  // "user@board"
};

/// Words of a command line.
using Words = std::vector<std::string>;

/// A way to a target, by a program of the system that the user has set up.
struct Transport {
  const char* name;  // "ssh"
  /// Has a POSIX shell on the target run `command`, one line of text; standard streams are the
  /// target's.
  Words (*run)(const Target& target, const std::string& command);
  /// Makes `to` on the target of the local file `from`, and the local file `to` of `from` on the
  /// target. Where both are null, one `run` of a shell that listens serves all commands, and files
  /// go through its streams.
  Words (*push)(const Target& target, const std::string& from, const std::string& to);
  Words (*pull)(const Target& target, const std::string& from, const std::string& to);
};

/// `ssh:HOST`, `ssh://USER@HOST:PORT` or `adb:SERIAL`; kInvalidArgument for anything else.
Result<Target> ParseTarget(const std::string& text);

/// `text` as one word of a POSIX shell.
std::string ShellWord(std::string_view text);

}  // namespace fettle::tools
