// fettle devices: what this machine offers, and which options are in force.
#include <fmt/core.h>

#include "base/memory_budget.h"
#include "commands/command.h"
#include "device/cpu/cpu_device.h"
#include "jobs/command_line.h"
#include "kernels/cpu/probe/probe.h"
#include "report/cpu_facts.h"
#include "report/opencl_facts.h"
#include "report/report.h"
#include "report/table.h"
#include "report/terminal.h"

namespace fettle::tools {
namespace {

/// What this command's options and environment come to, defaults included.
Json OptionsJson(const CommonOptions& options) {
  return {{"device", options.device},
          {"strict_device", options.strict_device},
          {"threads", ResolveThreads(options.threads)},
          {"precision", options.precision},
          {"memory", options.memory},
          {"queue_window", options.queue_window},
          {"kernel_ms", options.kernel_ms},
          {"svm", options.svm},
          {"subnormals", options.subnormals},
          {"max_memory", MemoryBudget::Process().limit()},
          {"cache", options.no_cache        ? "off"
                    : options.cache.empty() ? "default"
                                            : options.cache}};
}

std::string OptionsLine(const CommonOptions& options) {
  const Json all = OptionsJson(options);
  std::string line;
  for (const auto& [name, value] : all.items())
    line += fmt::format("{}{} {}", line.empty() ? "" : ", ", name,
                        value.is_string() ? value.get<std::string>() : value.dump());
  return line;
}

void PrintTable(const CpuDevice& device, const OpenClInventory& opencl,
                const CommonOptions& options) {
  const CpuInfo& info = device.info();
  std::string isa;
  for (const std::string& name : IsaNames(info)) isa += (isa.empty() ? "" : " ") + name;
  const auto bytes = [](int64_t size) {
    return size > 0 ? HumanBytes(static_cast<double>(size)) : std::string("unknown");
  };
  Table table({{"device"}, {.title = "cpu", .narrow = Table::Narrow::kWrap}});
  table.Row({"model", info.model});
  table.Row({"cores", fmt::format("{}", info.cores)});
  table.Row({"instructions", isa});
  table.Row({"L1d", bytes(info.l1d_bytes)});
  table.Row({"L2", bytes(info.l2_bytes)});
  table.Row({"L3", bytes(info.l3_bytes)});
  for (const kernels::Ceiling& ceiling : kernels::Probe(device)) {
    table.Row({std::string(ceiling.name),
               fmt::format("{:.1f} G{} one core, repeats within {:.0f} %", ceiling.value * 1e-9,
                           ceiling.unit, 100 * ceiling.spread)});
  }
  table.Row({"fingerprint", std::string(device.fingerprint())});
  fmt::print("{}", table.ToString());
  fmt::print("\n{}", OpenClText(opencl));
  fmt::print("\n{}\n", Fit("options in force: " + OptionsLine(options)));
  const auto environment = EnvironmentInForce();
  if (environment.empty()) return;
  fmt::print("of these from the environment:\n");
  for (const auto& [name, value] : environment) fmt::print("  {}={}\n", name, value);
}

int Devices(const CommonOptions& options) {
  InstallLog(options.log);
  const CpuDevice device(std::make_shared<ThreadPool>(1));
  const OpenClInventory opencl = TakeOpenClInventory();
  if (!options.json) {
    PrintTable(device, opencl, options);
    return kExitOk;
  }
  PrintJson({{"cpu", CpuJson(device)},
             {"opencl", OpenClJson(opencl)},
             {"opencl_reason", opencl.reason},
             {"environment", EnvironmentInForce()},
             {"options", OptionsJson(options)},
             {"precision", PrecisionJson(options)},
             {"warnings", Json::array()}});
  return kExitOk;
}

}  // namespace

void RegisterDevices(CLI::App& app, Action& action) {
  auto options = std::make_shared<CommonOptions>();
  CLI::App* sub = app.add_subcommand(
      "devices", "show this machine's devices and the options set by the environment");
  AddCommonOptions(*sub, *options);
  MarkWithoutEffect(*sub, {"--shape", "--seed"});
  sub->callback([&action, options] { action = [options] { return Devices(*options); }; });
}

}  // namespace fettle::tools
