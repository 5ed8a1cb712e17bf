// fettle compile-worker: what `tune` starts to compile for it; not for people.
#include "commands/command.h"
#include "kernels/backend.h"
#include "report/report.h"

namespace fettle::tools {

void RegisterCompileWorker(CLI::App& app, Action& action) {
  auto device = std::make_shared<std::string>();
  CLI::App* sub = app.add_subcommand("compile-worker", "compiles what standard input asks for");
  sub->group("");  // not listed by --help
  sub->add_option("DEVICE", *device)->required();
  sub->callback([&action, device] {
    action = [device]() -> int {
      const Result<int> served = kernels::ServeCompiles(*device);
      return served.ok() ? *served : Fail(served.status());
    };
  });
}

}  // namespace fettle::tools
