// The fettle program; docs/cli.md describes it.
#include <fmt/core.h>

#include <cstdio>
#include <new>
#include <string_view>

#include "commands/command.h"
#include "jobs/exit_code.h"

namespace fettle::tools {
namespace {

/// The first word where it is neither an option nor a command, else empty.
std::string_view UnknownCommand(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return {};
  const std::string_view word = argv[1];
  const auto commands =
      app.get_subcommands([&](const CLI::App* command) { return command->get_name() == word; });
  return commands.empty() ? word : std::string_view();
}

int Main(int argc, char** argv) {
  CLI::App app("Runs neural networks on the device in front of you.", "fettle");
  app.require_subcommand(1);
  app.set_version_flag("--version", FETTLE_VERSION);
  Action action;
  RegisterRun(app, action);
  RegisterBench(app, action);
  RegisterTest(app, action);
  RegisterCompare(app, action);
  RegisterInspect(app, action);
  RegisterDevices(app, action);
  RegisterGemm(app, action);
  RegisterPeak(app, action);
  RegisterTune(app, action);
  RegisterPlan(app, action);
  RegisterDb(app, action);
  RegisterTuneKernel(app, action);
  RegisterUnavailable(app, action);
  if (const std::string_view word = UnknownCommand(app, argc, argv); !word.empty()) {
    fmt::print(stderr, "fettle: there is no command '{}'; fettle --help lists them\n", word);
    return kExitUsage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : kExitUsage;
  }
  try {
    const int code = action();
    // A full disk behind stdout shows only here.
    if (std::fflush(stdout) == 0) return code;
    fmt::print(stderr, "fettle: cannot write to standard output\n");
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "fettle: out of memory\n");
  } catch (const std::exception& error) {
    fmt::print(stderr, "fettle: {}\n", error.what());
  }
  return kExitFailed;
}

}  // namespace
}  // namespace fettle::tools

int main(int argc, char** argv) { return fettle::tools::Main(argc, argv); }
