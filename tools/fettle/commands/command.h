// The subcommands: each file registers one and hands back what to do once the line is parsed.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace fettle::tools {

/// Set by the callback of the subcommand that was given; returns the exit code.
using Action = std::function<int()>;

void RegisterRun(CLI::App& app, Action& action);
void RegisterBench(CLI::App& app, Action& action);
void RegisterTest(CLI::App& app, Action& action);
void RegisterCompare(CLI::App& app, Action& action);
void RegisterInspect(CLI::App& app, Action& action);
void RegisterDevices(CLI::App& app, Action& action);
void RegisterGemm(CLI::App& app, Action& action);
void RegisterPeak(CLI::App& app, Action& action);
void RegisterTune(CLI::App& app, Action& action);
void RegisterPlan(CLI::App& app, Action& action);
void RegisterDb(CLI::App& app, Action& action);
void RegisterTuneKernel(CLI::App& app, Action& action);
/// tune, plan, report: named in docs/cli.md, refused with exit code 4.
void RegisterUnavailable(CLI::App& app, Action& action);

}  // namespace fettle::tools
