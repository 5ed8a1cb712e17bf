#include "jobs/accelerator.h"

#include <algorithm>

#include "device/compile_elsewhere.h"
#include "jobs/interrupt.h"
#include "kernels/backend.h"
#include "report/terminal.h"
#include "runtime/device_choice.h"

namespace fettle::tools {
namespace {

/// Null: none are kept.
const char* ProgramsOf(const CommonOptions& options) {
  return options.no_cache ? nullptr : options.cache.c_str();
}

}  // namespace

Result<std::shared_ptr<const Device>> OpenAccelerator(const CommonOptions& options,
                                                      std::vector<std::string>& warnings) {
  OpenOptions open{.programs = ProgramsOf(options),
                   .pacing = {.queue_window = static_cast<int>(options.queue_window),
                              .kernel_ms = options.kernel_ms}};
  ASSIGN_OR_RETURN(open.svm, runtime::SharedMemoryFromName(options.svm, options.device, open));
  auto device = runtime::OpenAccelerator(options.device, open);
  if (device.ok()) return device;
  if (options.strict_device) return device.status();
  warnings.push_back(
      fmt::format("--device {}: {}; the CPU is used", options.device, device.status().message()));
  return std::shared_ptr<const Device>();
}

std::shared_ptr<const Device> AcceleratorOf(const runtime::PackageInfo& package,
                                            const CommonOptions& options) {
  // Looking for devices takes a while, and most packages are the CPU's.
  if (options.device != "auto" || package.device.find(" + ") == std::string::npos) return nullptr;
  for (const kernels::Backend* backend : kernels::Backends()) {
    if (backend->list == nullptr) continue;
    const auto listed = backend->list();
    if (!listed.ok()) continue;
    for (const kernels::ListedDevice& device : *listed) {
      if (!package.device.ends_with(" + " + device.fingerprint)) continue;
      CommonOptions named = options;
      named.device = fmt::format("{}:{}", backend->name, device.which);
      std::vector<std::string> unread;
      const auto opened = OpenAccelerator(named, unread);
      return opened.ok() ? *opened : nullptr;
    }
  }
  return nullptr;
}

std::shared_ptr<void> CompileAside(const CommonOptions& options, const AsideOptions& aside) {
  const int at_once = std::min(ResolveThreads(options.threads), aside.most_at_once);
  if (!NamesAccelerator(options.device) || (aside.first_here && at_once < 2)) return nullptr;
  return kernels::CompileElsewhere(options.device,
                                   {.command = {"/proc/self/exe", "compile-worker", options.device},
                                    .limit_seconds = aside.limit_seconds,
                                    .at_once = at_once,
                                    .cancelled = &InterruptScope::Flag(),
                                    .first_here = aside.first_here,
                                    .programs = ProgramsOf(options)});
}

Json ProgramsJson(const runtime::SessionOptions& session) {
  if (session.accelerator() == nullptr) return nullptr;
  const ProgramStatistics statistics = session.accelerator()->program_statistics();
  return {{"built", statistics.built},
          {"from_cache", statistics.from_cache},
          {"from_package", statistics.from_package},
          {"failed", statistics.failed},
          {"build_seconds", statistics.build_seconds},
          {"load_seconds", statistics.load_seconds}};
}

std::string ProgramsText(const runtime::SessionOptions& session) {
  if (session.accelerator() == nullptr) return "";
  const ProgramStatistics of = session.accelerator()->program_statistics();
  const int64_t loaded = of.from_cache + of.from_package;
  std::string text;
  if (loaded > 0)
    text = fmt::format("{} loaded in {:.1f} ms", Count(loaded, "program"), of.load_seconds * 1e3);
  if (of.built > 0)
    text += fmt::format("{}{} built in {:.1f} ms", text.empty() ? "" : ", ",
                        Count(of.built, "program"), of.build_seconds * 1e3);
  return text;
}

Result<runtime::SessionOptions> MakeSessionOptions(const CommonOptions& options,
                                                   std::vector<std::string>& warnings) {
  runtime::SessionOptions session{.threads = options.threads};
  ASSIGN_OR_RETURN(session.subnormals, runtime::SubnormalsFromName(options.subnormals));
  ASSIGN_OR_RETURN(const std::shared_ptr<const Device> device, OpenAccelerator(options, warnings));
  if (device == nullptr) {
    RETURN_IF_ERROR(CheckCpuAlone(options, warnings));
    if (CpuPrecision() == "normal") {
      ASSIGN_OR_RETURN(session.precision, runtime::PrecisionFromName(options.precision));
    }
    return session;
  }
  session.accelerators = {device};
  session.accelerator_only = options.strict_device;
  ASSIGN_OR_RETURN(session.precision, runtime::PrecisionFromName(options.precision));
  if (options.strict_device && options.precision == "low" && !device->computes_f16())
    return Unsupported("--precision low: device has no cl_khr_fp16");
  ASSIGN_OR_RETURN(session.memory, runtime::MemoryFromName(options.memory));
  session.queue_window = static_cast<int>(options.queue_window);
  session.kernel_ms = options.kernel_ms;
  return session;
}

}  // namespace fettle::tools
