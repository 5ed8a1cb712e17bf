// fettle peak: the measured ceilings of one core of this machine, or of a device beside it.
#include <fmt/core.h>

#include "commands/command.h"
#include "device/cpu/cpu_device.h"
#include "jobs/command_line.h"
#include "kernels/cpu/probe/probe.h"
#include "report/report.h"
#include "report/table.h"
#include "runtime/device_choice.h"

namespace fettle::tools {
namespace {

int PeakBesideCpu(const CommonOptions& options) {
  const auto device = runtime::OpenAccelerator(options.device);
  if (!device.ok()) return Fail(device.status());
  const auto measured = kernels::FindBackend((*device)->kind())->probe(**device);
  if (!measured.ok()) return Fail(measured.status());
  constexpr auto kRight = Table::Align::kRight;
  Table table({{"ceiling of the device"}, {"value", kRight}, {"unit"}, {"spread", kRight}});
  Json ceilings = Json::array();
  for (const kernels::Ceiling& ceiling : *measured) {
    ceilings.push_back({{"name", ceiling.name},
                        {"value", ceiling.value},
                        {"unit", ceiling.unit},
                        {"spread", ceiling.spread},
                        {"status", "measured"}});
    const bool is_rate = ceiling.unit != "us";
    table.Row({std::string(ceiling.name),
               fmt::format("{:.1f}", is_rate ? ceiling.value * 1e-9 : ceiling.value),
               fmt::format("{}{}", is_rate ? "G" : "", ceiling.unit),
               fmt::format("{:.1f} %", 100 * ceiling.spread)});
  }
  if (options.json) {
    PrintJson({{"ceilings", std::move(ceilings)},
               {"device", DeviceJson(1, device->get())},
               {"precision", PrecisionJson(options, device->get())},
               {"warnings", Json::array()}});
  } else {
    fmt::print("{}\n", table.ToString());
    PrintParts({DeviceLine(1, device->get()), PrecisionLine(options, device->get())});
  }
  return kExitOk;
}

int Peak(const CommonOptions& options) {
  InstallLog(options.log);
  if (NamesAccelerator(options.device)) return PeakBesideCpu(options);
  std::vector<std::string> warnings;
  const Status status = CheckCpuOptions(options, warnings);
  if (!status.ok()) return Fail(status);
  PrintWarnings(warnings);
  const CpuDevice device(std::make_shared<ThreadPool>(1));
  constexpr auto kRight = Table::Align::kRight;
  Table table({{"ceiling of one core"}, {"value", kRight}, {"unit"}, {"spread", kRight}});
  Json ceilings = Json::array();
  for (const kernels::Ceiling& ceiling : kernels::Probe(device)) {
    ceilings.push_back({{"name", ceiling.name},
                        {"value", ceiling.value},
                        {"unit", ceiling.unit},
                        {"spread", ceiling.spread},
                        {"status", "measured"}});
    table.Row({std::string(ceiling.name), fmt::format("{:.1f}", ceiling.value * 1e-9),
               fmt::format("G{}", ceiling.unit), fmt::format("{:.1f} %", 100 * ceiling.spread)});
  }
  if (options.json) {
    PrintJson({{"ceilings", std::move(ceilings)},
               {"device", DeviceJson(1)},
               {"precision", PrecisionJson(options)},
               {"warnings", warnings}});
  } else {
    fmt::print("{}\n", table.ToString());
    PrintParts({DeviceLine(1), PrecisionLine(options)});
  }
  return kExitOk;
}

}  // namespace

void RegisterPeak(CLI::App& app, Action& action) {
  auto options = std::make_shared<CommonOptions>();
  CLI::App* sub = app.add_subcommand("peak", "measure the ceilings of this device");
  AddCommonOptions(*sub, *options);
  MarkWithoutEffect(*sub, {"--threads", "--shape", "--cache", "--seed"});
  sub->callback([&action, options] { action = [options] { return Peak(*options); }; });
}

}  // namespace fettle::tools
