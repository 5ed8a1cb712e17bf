// fettle compile-worker: what `tune` starts to compile for it; not for people.
#include "commands/command.h"
#include "kernels/backend.h"
#include "report/report.h"
#include "runtime/device_choice.h"

namespace fettle::tools {

void RegisterCompileWorker(CLI::App& app, Action& action) {
  auto device = std::make_shared<std::string>();
  CLI::App* sub = app.add_subcommand("compile-worker", "compiles what standard input asks for");
  sub->group("");  // not listed by --help
  sub->add_option("DEVICE", *device)->required();
  sub->callback([&action, device] {
    action = [device]() -> int {
      const auto opened = runtime::OpenAccelerator(*device);
      if (!opened.ok()) return Fail(opened.status());
      if (*opened == nullptr) return FailUsage(*device + " compiles nothing");
      return kernels::ServeCompiles(**opened);
    };
  });
}

}  // namespace fettle::tools
