// fettle peak: the measured ceilings of this machine's CPU, or of a device beside it.
#include <fmt/core.h>

#include "commands/command.h"
#include "device/cpu/cpu_device.h"
#include "jobs/command_line.h"
#include "jobs/tuning.h"
#include "kernels/backend.h"
#include "remote/remote.h"
#include "report/ceiling_report.h"
#include "report/cpu_facts.h"
#include "report/report.h"
#include "report/terminal.h"
#include "runtime/device_choice.h"
#include "tuner/cost/ceilings.h"

namespace fettle::tools {
namespace {

/// A clock that changes by more than this makes the figures of one run hard to compare.
constexpr double kSteadyClock = 0.05;

struct PeakOptions {
  CommonOptions common;
  std::string only, compare;
  bool csv = false;
  RemoteOptions remote;
};

/// What is measured: an accelerator, or the CPU where that is null.
struct PeakDevice {
  std::shared_ptr<const Device> device;
  bool is_cpu = true;
  int threads = 1;
  std::vector<std::string> warnings;

  const Device* accelerator() const { return is_cpu ? nullptr : device.get(); }
};

Result<PeakDevice> OpenPeakDevice(const PeakOptions& options) {
  PeakDevice measured;
  if (NamesAccelerator(options.common.device)) {
    ASSIGN_OR_RETURN(measured.device, runtime::OpenAccelerator(options.common.device));
    measured.is_cpu = false;
    return measured;
  }
  RETURN_IF_ERROR(CheckCpuOptions(options.common, measured.warnings));
  measured.threads = ResolveThreads(options.common.threads);
  measured.device = std::make_shared<CpuDevice>(std::make_shared<ThreadPool>(measured.threads));
  return measured;
}

/// What `plan --for` needs beside the ceilings.
Json FactsJson(const PeakDevice& measured) {
  const CpuDevice cpu(std::make_shared<ThreadPool>(1));
  Json facts = {{"cpu", CpuJson(cpu)}, {"accelerator", nullptr}};
  const Device* accelerator = measured.accelerator();
  const kernels::Backend* backend =
      accelerator == nullptr ? nullptr : kernels::FindBackend(accelerator->kind());
  if (backend == nullptr || backend->facts == nullptr) return facts;
  Json named = {{"backend", backend->name}};
  for (const auto& [name, fact] : backend->facts(*accelerator))
    std::visit([&, name = name](const auto& value) { named[name] = value; }, fact);
  facts["accelerator"] = std::move(named);
  return facts;
}

void PrintPeak(const PeakOptions& options, const PeakDevice& measured,
               std::span<const kernels::Ceiling> ceilings, const BaseCeilings* base) {
  // Adreno's name has no number, its version has.
  const std::string_view name = measured.device->fingerprint();
  Json rows = CeilingsJson(ceilings, name, base);
  const Device* accelerator = measured.accelerator();
  if (options.common.json) {
    Json document = {{"ceilings", std::move(rows)},
                     {"clock_change", ClockChange(ceilings)},
                     {"device", DeviceJson(measured.threads, accelerator)},
                     {"facts", FactsJson(measured)},
                     {"precision", PrecisionJson(options.common, accelerator)},
                     {"warnings", measured.warnings}};
    if (base != nullptr) document["comparison"] = base->path;
    PrintJson(document);
  } else if (options.csv) {
    fmt::print("{}", CeilingsCsv(rows));
  } else {
    fmt::print("{}", base == nullptr ? CeilingsText(ceilings, name)
                                     : ComparisonText(rows, base->path) + "\n");
    PrintParts(
        {DeviceLine(measured.threads, accelerator), PrecisionLine(options.common, accelerator)});
  }
}

int Peak(const PeakOptions& options) {
  InstallLog(options.common.log);
  BaseCeilings base;
  if (!options.compare.empty()) {
    auto read = ReadBase(options.compare);
    if (!read.ok()) return Fail(AsInvalidInput(read.status()));
    base = std::move(*read);
  }
  auto measured = OpenPeakDevice(options);
  if (!measured.ok()) return Fail(measured.status());
  if (!options.compare.empty()) {
    const Status same = CheckBase(base, DeviceJson(measured->threads, measured->accelerator()));
    if (!same.ok()) return Fail(same);
  }
  const Device& device = *measured->device;
  const auto ceilings =
      kernels::FindBackend(device.kind())
          ->probe(device,
                  {.for_bounds = false, .only = options.only, .threads = measured->threads});
  if (!ceilings.ok()) return Fail(ceilings.status());
  if (ceilings->empty())
    return Fail(
        InvalidArgument("--only: no ceiling of this device has '{}' in its name", options.only));
  tuner::KeepCeilings(*ceilings, device, *StoreFor(options.common));
  if (const double change = ClockChange(*ceilings); change > kSteadyClock)
    measured->warnings.push_back(
        fmt::format("the clock changed by {:.0f} % while measuring: it is throttled, or other "
                    "programs run",
                    100 * change));
  PrintWarnings(measured->warnings);
  PrintPeak(options, *measured, *ceilings, options.compare.empty() ? nullptr : &base);
  return kExitOk;
}

}  // namespace

void RegisterPeak(CLI::App& app, Action& action) {
  auto options = std::make_shared<PeakOptions>();
  CLI::App* sub = app.add_subcommand("peak", "measure the peak rates of this device");
  AddCommonOptions(*sub, options->common);
  MarkWithoutEffect(*sub, {"--shape", "--seed"});
  sub->add_option("--only", options->only, "only those whose names contain this text");
  sub->add_flag("--csv", options->csv, "print comma-separated lines instead of tables");
  sub->add_option("--compare", options->compare,
                  "the --json output of an earlier peak, to compare with");
  AddRemoteOptions(*sub, options->remote);
  sub->callback([&action, options, sub] {
    action = [options, sub] {
      if (!options->remote.given()) return Peak(*options);
      return RunRemotely(*sub, options->remote, options->common);
    };
  });
}

}  // namespace fettle::tools
