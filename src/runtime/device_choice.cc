#include "runtime/device_choice.h"

#include <map>
#include <mutex>
#include <string>

#include "base/log.h"

namespace fettle::runtime {
namespace {

constexpr std::string_view kOpenCl = "opencl";

std::string KeyOf(std::string_view choice, const AcceleratorOptions& options) {
  return fmt::format("{}\n{} {} {}\n{}", choice, options.pacing.queue_window,
                     options.pacing.kernel_ms, static_cast<int>(options.svm),
                     options.programs == nullptr ? "\n" : options.programs);
}

Result<std::shared_ptr<const Device>> Open(std::string_view choice,
                                           const AcceleratorOptions& options) {
  OpenClOptions wanted{.svm = options.svm, .pacing = options.pacing};
  if (options.programs != nullptr) wanted.cache = OpenUserProgramCache(options.programs);
  Result<std::shared_ptr<OpenClDevice>> device = OpenClDevice::Open(choice, wanted);
  if (device.status().code() == StatusCode::kUnsupported &&
      options.svm != SharedVirtualMemory::kOff) {
    Log(LogLevel::kWarn, "{}; it is off", device.status().message());
    wanted.svm = SharedVirtualMemory::kOff;
    device = OpenClDevice::Open(choice, wanted);
  }
  RETURN_IF_ERROR(device.status());
  return std::shared_ptr<const Device>(*device);
}

/// A context per session would build every program again, so sessions share one.
Result<std::shared_ptr<const Device>> OpenShared(std::string_view choice,
                                                 const AcceleratorOptions& options) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<const Device>, std::less<>> opened;
  const std::lock_guard lock(mutex);
  std::weak_ptr<const Device>& slot = opened[KeyOf(choice, options)];
  if (auto device = slot.lock()) return device;
  ASSIGN_OR_RETURN(const std::shared_ptr<const Device> device, Open(choice, options));
  slot = device;
  return device;
}

}  // namespace

Result<std::shared_ptr<const Device>> OpenAccelerator(std::string_view name,
                                                      const AcceleratorOptions& options) {
  if (name.empty() || name == "auto" || name == "cpu") return std::shared_ptr<const Device>();
  if (name == kOpenCl) return OpenShared("", options);
  if (name.starts_with("opencl:")) return OpenShared(name.substr(kOpenCl.size() + 1), options);
  return InvalidArgument("device: expected auto|cpu|opencl[:PLATFORM[:DEVICE]], got '{}'", name);
}

Result<planner::Precision> PrecisionFromName(std::string_view name) {
  if (name == "high") return planner::Precision::kHigh;
  if (name == "normal") return planner::Precision::kNormal;
  if (name == "low") return planner::Precision::kLow;
  return InvalidArgument("precision: expected high|normal|low, got '{}'", name);
}

Result<MemoryKind> MemoryFromName(std::string_view name) {
  if (name == "auto") return MemoryKind::kHost;
  if (name == "buffer") return MemoryKind::kBuffer;
  if (name == "image") return MemoryKind::kImage2d;
  return InvalidArgument("memory: expected auto|buffer|image, got '{}'", name);
}

}  // namespace fettle::runtime
