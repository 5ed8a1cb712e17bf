// Manual pages, made of the options that the program has.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace fettle::tools {

/// The page of `command` in the macros of man(7), for section 1: of the program itself, with all
/// commands, or of one command, with those below it. `app` is the program.
std::string ManualPage(const CLI::App& app, const CLI::App& command);

/// Names of the pages that there are: "fettle", "fettle-bench", ...
std::vector<std::string> ManualPages(const CLI::App& app);

}  // namespace fettle::tools
