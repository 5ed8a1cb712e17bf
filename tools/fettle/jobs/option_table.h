// The commands and options of the program as one document.
#pragma once

#include <CLI/CLI.hpp>

#include "report/report.h"

namespace fettle::tools {

/// What `fettle [COMMAND] --help --json` prints: the fields of docs/cli.md's row `help`, for
/// `command` and all that are below it.
Json OptionTable(const CLI::App& command);

}  // namespace fettle::tools
