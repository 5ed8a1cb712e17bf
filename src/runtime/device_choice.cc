#include "runtime/device_choice.h"

#include <map>
#include <mutex>
#include <string>

namespace fettle::runtime {
namespace {

std::string KeyOf(std::string_view name, const OpenOptions& options) {
  return fmt::format("{}\n{} {} {}\n{}", name, options.pacing.queue_window,
                     options.pacing.kernel_ms, static_cast<int>(options.svm),
                     options.programs == nullptr ? "\n" : options.programs);
}

}  // namespace

Result<std::shared_ptr<const Device>> OpenAccelerator(std::string_view name,
                                                      const OpenOptions& options) {
  if (name.empty() || name == "auto") return std::shared_ptr<const Device>();
  std::string_view which;
  const kernels::Backend* backend = kernels::BackendOfChoice(name, &which);
  if (backend == nullptr)
    return InvalidArgument("device: expected {}, got '{}'", kernels::DeviceChoices(), name);
  if (backend->open == nullptr) return std::shared_ptr<const Device>();
  // A context per session would build every program again, so sessions share one.
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<const Device>, std::less<>> opened;
  const std::lock_guard lock(mutex);
  std::weak_ptr<const Device>& slot = opened[KeyOf(name, options)];
  if (auto device = slot.lock()) return device;
  ASSIGN_OR_RETURN(const std::shared_ptr<const Device> device, backend->open(which, options));
  slot = device;
  return device;
}

Result<planner::Precision> PrecisionFromName(std::string_view name) {
  if (name == "high") return planner::Precision::kHigh;
  if (name == "normal") return planner::Precision::kNormal;
  if (name == "low") return planner::Precision::kLow;
  return InvalidArgument("precision: expected high|normal|low, got '{}'", name);
}

SharedVirtualMemory UsualSharedMemory(const kernels::Facts& facts) {
  const auto is = [&](std::string_view name) {
    const auto found = facts.find(name);
    const bool* value = found == facts.end() ? nullptr : std::get_if<bool>(&found->second);
    return value != nullptr && *value;
  };
  const auto family = facts.find("family");
  const bool is_adreno =
      family != facts.end() && family->second == kernels::Fact(std::string("adreno"));
  if (is("svm_fine") && (is("unified_memory") || is("is_cpu"))) return SharedVirtualMemory::kFine;
  return is("svm_coarse") && is_adreno ? SharedVirtualMemory::kCoarse : SharedVirtualMemory::kOff;
}

Result<SharedVirtualMemory> SharedMemoryFromName(std::string_view name, std::string_view device,
                                                 const OpenOptions& options) {
  if (name == "auto") {
    const Result<std::shared_ptr<const Device>> opened = OpenAccelerator(device, options);
    if (!opened.ok() || *opened == nullptr) return SharedVirtualMemory::kOff;  // said when opened
    const kernels::Backend* backend = kernels::FindBackend((*opened)->kind());
    if (backend == nullptr || backend->facts == nullptr) return SharedVirtualMemory::kOff;
    return UsualSharedMemory(backend->facts(**opened));
  }
  if (name == "off") return SharedVirtualMemory::kOff;
  if (name == "coarse") return SharedVirtualMemory::kCoarse;
  if (name == "fine") return SharedVirtualMemory::kFine;
  return InvalidArgument("svm: expected auto|off|coarse|fine, got '{}'", name);
}

Result<MemoryKind> MemoryFromName(std::string_view name) {
  if (name == "auto") return MemoryKind::kHost;
  if (name == "buffer") return MemoryKind::kBuffer;
  if (name == "image") return MemoryKind::kImage2d;
  return InvalidArgument("memory: expected auto|buffer|image, got '{}'", name);
}

Result<bool> StartsFastFromName(std::string_view name) {
  if (name == "ready" || name == "fast") return name == "fast";
  return InvalidArgument("start: expected ready|fast, got '{}'", name);
}

Result<Subnormals> SubnormalsFromName(std::string_view name) {
  if (name == "flush") return Subnormals::kFlush;
  if (name == "keep") return Subnormals::kKeep;
  return InvalidArgument("subnormals: expected flush|keep, got '{}'", name);
}

}  // namespace fettle::runtime
