// Commands that docs/cli.md names and this version does not have.
#include <fmt/core.h>

#include "commands/command.h"
#include "jobs/exit_code.h"

namespace fettle::tools {

void RegisterUnavailable(CLI::App& app, Action& action) {
  static constexpr const char* kCommands[][2] = {
      {"report", "one self-contained page about a model"},
  };
  for (const auto& [name, description] : kCommands) {
    CLI::App* sub = app.add_subcommand(name, std::string(description) + " (not in this version)");
    sub->allow_extras();
    sub->callback([&action, name = name] {
      action = [name] {
        fmt::print(stderr, "fettle: {}: this version has no such command yet\n", name);
        return static_cast<int>(kExitUnsupported);
      };
    });
  }
}

}  // namespace fettle::tools
