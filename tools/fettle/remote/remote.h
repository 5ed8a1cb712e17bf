// --remote: a command that runs on other machines, and one table of what they said.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "jobs/options.h"

namespace fettle::tools {

struct RemoteOptions {
  std::vector<std::string> targets;  // ssh:HOST, adb:SERIAL
  std::string runner;                // a folder like libexec/fettle, or one runner.tar
  int hold_seconds = 3600;

  bool given() const { return !targets.empty(); }
};

/// Adds --remote, --runner and --remote-hold.
void AddRemoteOptions(CLI::App& app, RemoteOptions& options);

/// What `command`, parsed, does where --remote is given: the program of `libexec/fettle` runs it on
/// every target at once; packages come to `output` (empty: the current folder), rows and decisions
/// to the database of `common`. Prints one table, or with --json {remotes[]}, and returns the exit
/// code: that of the first target that failed.
int RunRemotely(const CLI::App& command, const RemoteOptions& options, const CommonOptions& common,
                const std::string& output = "");

}  // namespace fettle::tools
