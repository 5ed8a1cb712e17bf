#include "jobs/accelerator.h"

#include "device/opencl/opencl_device.h"
#include "runtime/device_choice.h"

namespace fettle::tools {

Result<std::shared_ptr<const Device>> OpenAccelerator(const CommonOptions& options,
                                                      std::vector<std::string>& warnings) {
  auto device = runtime::OpenAccelerator(
      options.device, {.programs = options.no_cache ? nullptr : options.cache.c_str(),
                       .pacing = {.queue_window = static_cast<int>(options.queue_window),
                                  .kernel_ms = options.kernel_ms},
                       .svm = options.svm == "fine"     ? SharedVirtualMemory::kFine
                              : options.svm == "coarse" ? SharedVirtualMemory::kCoarse
                                                        : SharedVirtualMemory::kOff});
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
  const auto listings = ListOpenClDevices();
  if (!listings.ok()) return nullptr;
  for (const OpenClListing& listing : *listings) {
    if (!package.device.ends_with(" + " + Fingerprint(listing.facts))) continue;
    CommonOptions named = options;
    named.device = fmt::format("opencl:{}:{}", listing.platform_index, listing.device_index);
    std::vector<std::string> unread;
    const auto device = OpenAccelerator(named, unread);
    return device.ok() ? *device : nullptr;
  }
  return nullptr;
}

Json ProgramsJson(const runtime::SessionOptions& session) {
  if (session.accelerator == nullptr) return nullptr;
  const auto& device = static_cast<const OpenClDevice&>(*session.accelerator);
  const ProgramStatistics statistics = device.programs().statistics();
  return {{"built", statistics.built},
          {"from_cache", statistics.from_cache},
          {"from_package", statistics.from_package},
          {"failed", statistics.failed},
          {"build_seconds", statistics.build_seconds},
          {"load_seconds", statistics.load_seconds}};
}

Result<runtime::SessionOptions> MakeSessionOptions(const CommonOptions& options,
                                                   std::vector<std::string>& warnings) {
  runtime::SessionOptions session{.threads = options.threads};
  ASSIGN_OR_RETURN(session.accelerator, OpenAccelerator(options, warnings));
  if (session.accelerator == nullptr) {
    RETURN_IF_ERROR(CheckCpuAlone(options, warnings));
    return session;
  }
  session.accelerator_only = options.strict_device;
  ASSIGN_OR_RETURN(session.precision, runtime::PrecisionFromName(options.precision));
  const auto& device = static_cast<const OpenClDevice&>(*session.accelerator);
  if (options.strict_device && options.precision == "low" && !device.facts().fp16_compute)
    return Unsupported("--precision low: device has no cl_khr_fp16");
  ASSIGN_OR_RETURN(session.memory, runtime::MemoryFromName(options.memory));
  session.queue_window = static_cast<int>(options.queue_window);
  session.kernel_ms = options.kernel_ms;
  return session;
}

}  // namespace fettle::tools
