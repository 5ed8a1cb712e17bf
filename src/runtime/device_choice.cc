#include "runtime/device_choice.h"

#include <map>
#include <mutex>
#include <string>

#include "device/opencl/opencl_device.h"

namespace fettle::runtime {
namespace {

constexpr std::string_view kOpenCl = "opencl";

/// A context per session would build every program again, so sessions share one.
Result<std::shared_ptr<const Device>> OpenShared(std::string_view choice, const char* programs) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<const Device>, std::less<>> opened;
  const std::lock_guard lock(mutex);
  const std::string key =
      std::string(choice) + (programs == nullptr ? "" : "\n" + std::string(programs));
  std::weak_ptr<const Device>& slot = opened[key];
  if (auto device = slot.lock()) return device;
  OpenClOptions options;
  if (programs != nullptr) options.cache = OpenUserProgramCache(programs);
  ASSIGN_OR_RETURN(const std::shared_ptr<const Device> device, OpenClDevice::Open(choice, options));
  slot = device;
  return device;
}

}  // namespace

Result<std::shared_ptr<const Device>> OpenAccelerator(std::string_view name, const char* programs) {
  if (name.empty() || name == "auto" || name == "cpu") return std::shared_ptr<const Device>();
  if (name == kOpenCl) return OpenShared("", programs);
  if (name.starts_with("opencl:")) return OpenShared(name.substr(kOpenCl.size() + 1), programs);
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
