#include "device/opencl/program/linker.h"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "base/log.h"
#include "device/cuda/linked.h"

namespace fettle {
namespace {

constexpr cl_device_info kDeviceUuid = 0x106A;  // CL_DEVICE_UUID_KHR

}  // namespace

bool ProgramLinker::IsNeeded() {
  const char* off = std::getenv("CUDA_CACHE_DISABLE");
  if (off != nullptr && std::string_view(off) != "0" && *off != '\0') return true;
  if (std::getenv("CUDA_CACHE_PATH") != nullptr) return false;
  const char* home = std::getenv("HOME");
  return home == nullptr || access(home, W_OK) != 0;
}

void ProgramLinker::Open() {
  const auto api = cuda::Load();
  cuda::Uuid uuid{};
  if (!api.ok() ||
      api_.GetDeviceInfo(device_, kDeviceUuid, sizeof(uuid), &uuid, nullptr) != CL_SUCCESS)
    return;
  auto context = cuda::PrimaryContext::Open(uuid, **api);
  if (context.ok()) context_ = std::move(*context);
}

std::vector<std::byte> ProgramLinker::Link(std::span<const std::byte> binary) {
  std::call_once(opened_, [this] { Open(); });
  if (context_ == nullptr) return {};
  const std::string_view text(reinterpret_cast<const char*>(binary.data()), binary.size());
  auto linked = cuda::Linked(text, *context_);
  if (linked.ok()) return *std::move(linked);
  Log(LogLevel::kDebug, "OpenCL: a program is not linked: {}", linked.status().message());
  return {};
}

}  // namespace fettle
