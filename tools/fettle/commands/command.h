// The subcommands: each file registers one and hands back what to do once the line is parsed.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace fettle::tools {

/// Set by the callback of the subcommand that was given; returns the exit code.
using Action = std::function<int()>;

/// Adds every subcommand of the table in commands.cc to `app`. `action` must outlive the parse.
void RegisterCommands(CLI::App& app, Action& action);

}  // namespace fettle::tools
