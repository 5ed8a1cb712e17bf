#include "report/start_report.h"

#include "report/terminal.h"

namespace fettle::tools {

using Stage = runtime::StartState::Stage;

Json StartJson(const runtime::StartState& start) {
  if (start.stage == Stage::kWhole) return nullptr;
  const char* const stage = start.stage == Stage::kOnCpu   ? "on-cpu"
                            : start.stage == Stage::kMoved ? "moved"
                                                           : "stayed";
  return {{"stage", stage},
          {"cpu_runs", start.cpu_runs},
          {"seconds", start.seconds},
          {"reason", start.reason.empty() ? Json() : Json(start.reason)}};
}

std::string StartLine(const runtime::StartState& start, const std::string& named,
                      const Device* accelerator) {
  const std::string_view name =
      accelerator == nullptr ? std::string_view(named) : accelerator->name();
  if (start.stage == Stage::kWhole || name.empty()) return "";
  const std::string runs = Count(start.cpu_runs, "run");
  switch (start.stage) {
    case Stage::kOnCpu:
      return fmt::format("fast start: the CPU computed, {} was not ready after {:.2f} s\n", name,
                         start.seconds);
    case Stage::kMoved:
      return fmt::format("fast start: {} on the CPU, then on {} after {:.2f} s\n", runs, name,
                         start.seconds);
    default:
      return fmt::format("fast start: the CPU goes on, {} cannot take over: {}\n", name,
                         start.reason);
  }
}

}  // namespace fettle::tools
