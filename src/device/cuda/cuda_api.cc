#include "device/cuda/cuda_api.h"

#include <dlfcn.h>

namespace fettle::cuda {
namespace {

/// The library stays open until the process ends, as OpenCL's does.
fettle::Result<const Api*> Open() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return Error(StatusCode::kDeviceUnavailable, "the CUDA driver (libcuda.so.1) is not here");
  static Api api;
#define FETTLE_LOAD(name, symbol, ...)                                     \
  api.name = reinterpret_cast<decltype(api.name)>(dlsym(library, symbol)); \
  if (api.name == nullptr)                                                 \
    return Error(StatusCode::kDeviceUnavailable, "the CUDA driver has no {}", symbol);
  FETTLE_CUDA_FUNCTIONS(FETTLE_LOAD)
#undef FETTLE_LOAD
  if (const Result code = api.Init(0); code != 0)
    return Error(StatusCode::kDeviceUnavailable, "the CUDA driver does not start: error {}", code);
  return &api;
}

}  // namespace

fettle::Result<const Api*> Load() {
  static const fettle::Result<const Api*> opened = Open();
  return opened;
}

Status StatusOf(const Api& api, Result code, std::string_view what) {
  if (code == 0) return OkStatus();
  const char* name = nullptr;
  if (api.GetErrorName(code, &name) != 0 || name == nullptr) name = "unknown error";
  return Error(StatusCode::kDeviceError, "CUDA: {}: {} ({})", what, name, code);
}

}  // namespace fettle::cuda
