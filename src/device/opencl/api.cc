#include "device/opencl/api.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace fettle {
namespace {

/// Puts back what a loader writes into the environment while it reads it: Khronos' cuts the names
/// of OCL_ICD_FILENAMES apart where they stand, and processes started from here would see the first
/// one alone.
class KeptEnvironment {
 public:
  KeptEnvironment() {
    for (char** at = environ; at != nullptr && *at != nullptr; ++at) texts_.emplace_back(*at, *at);
  }
  ~KeptEnvironment() {
    for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
      for (const auto& [place, text] : texts_)
        if (place == *at && text != place) text.copy(place, text.size());
    }
  }
  KeptEnvironment(const KeptEnvironment&) = delete;
  KeptEnvironment& operator=(const KeptEnvironment&) = delete;

 private:
  std::vector<std::pair<char*, std::string>> texts_;
};

constexpr const char* kLibraries[] = {"libOpenCL.so.1", "libOpenCL.so"};

void* OpenLibrary(std::string& reasons) {
  const char* named = std::getenv("FETTLE_OPENCL_LIBRARY");
  const auto open = [&](const char* name) {
    void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const char* why = dlerror();
      reasons += (reasons.empty() ? "" : "; ") + std::string(why == nullptr ? name : why);
    }
    return library;
  };
  if (named != nullptr && *named != '\0') return open(named);
  for (const char* name : kLibraries) {
    if (void* library = open(name)) return library;
  }
  return nullptr;
}

/// The library stays open until the process ends: drivers do not stand being unloaded.
Result<const OpenClApi*> Load() {
  const KeptEnvironment kept;
  std::string reasons;
  void* library = OpenLibrary(reasons);
  if (library == nullptr)
    return Error(StatusCode::kDeviceUnavailable, "no OpenCL loader: {}", reasons);
  static OpenClApi api;
#define FETTLE_LOAD(name) \
  api.name = reinterpret_cast<decltype(&cl##name)>(dlsym(library, "cl" #name));
  FETTLE_OPENCL_FUNCTIONS(FETTLE_LOAD)
#undef FETTLE_LOAD
  // All of OpenCL 1.2, which is asked for; what came later is looked at where it is used.
  if (api.CreateImage == nullptr || api.EnqueueFillBuffer == nullptr)
    return Error(StatusCode::kDeviceUnavailable, "the OpenCL loader is older than OpenCL 1.2");
  cl_uint platforms = 0;
  api.GetPlatformIDs(0, nullptr, &platforms);  // some read the environment only now
  return &api;
}

struct ErrorRow {
  cl_int code;
  const char* name;
};

constexpr ErrorRow kErrors[] = {
    {CL_DEVICE_NOT_FOUND, "CL_DEVICE_NOT_FOUND"},
    {CL_DEVICE_NOT_AVAILABLE, "CL_DEVICE_NOT_AVAILABLE"},
    {CL_COMPILER_NOT_AVAILABLE, "CL_COMPILER_NOT_AVAILABLE"},
    {CL_MEM_OBJECT_ALLOCATION_FAILURE, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
    {CL_OUT_OF_RESOURCES, "CL_OUT_OF_RESOURCES"},
    {CL_OUT_OF_HOST_MEMORY, "CL_OUT_OF_HOST_MEMORY"},
    {CL_IMAGE_FORMAT_NOT_SUPPORTED, "CL_IMAGE_FORMAT_NOT_SUPPORTED"},
    {CL_BUILD_PROGRAM_FAILURE, "CL_BUILD_PROGRAM_FAILURE"},
    {CL_MAP_FAILURE, "CL_MAP_FAILURE"},
    {CL_INVALID_VALUE, "CL_INVALID_VALUE"},
    {CL_INVALID_DEVICE, "CL_INVALID_DEVICE"},
    {CL_INVALID_CONTEXT, "CL_INVALID_CONTEXT"},
    {CL_INVALID_COMMAND_QUEUE, "CL_INVALID_COMMAND_QUEUE"},
    {CL_INVALID_MEM_OBJECT, "CL_INVALID_MEM_OBJECT"},
    {CL_INVALID_IMAGE_SIZE, "CL_INVALID_IMAGE_SIZE"},
    {CL_INVALID_BINARY, "CL_INVALID_BINARY"},
    {CL_INVALID_BUILD_OPTIONS, "CL_INVALID_BUILD_OPTIONS"},
    {CL_INVALID_PROGRAM, "CL_INVALID_PROGRAM"},
    {CL_INVALID_PROGRAM_EXECUTABLE, "CL_INVALID_PROGRAM_EXECUTABLE"},
    {CL_INVALID_KERNEL_NAME, "CL_INVALID_KERNEL_NAME"},
    {CL_INVALID_KERNEL, "CL_INVALID_KERNEL"},
    {CL_INVALID_ARG_INDEX, "CL_INVALID_ARG_INDEX"},
    {CL_INVALID_ARG_VALUE, "CL_INVALID_ARG_VALUE"},
    {CL_INVALID_ARG_SIZE, "CL_INVALID_ARG_SIZE"},
    {CL_INVALID_KERNEL_ARGS, "CL_INVALID_KERNEL_ARGS"},
    {CL_INVALID_WORK_DIMENSION, "CL_INVALID_WORK_DIMENSION"},
    {CL_INVALID_WORK_GROUP_SIZE, "CL_INVALID_WORK_GROUP_SIZE"},
    {CL_INVALID_WORK_ITEM_SIZE, "CL_INVALID_WORK_ITEM_SIZE"},
    {CL_INVALID_GLOBAL_WORK_SIZE, "CL_INVALID_GLOBAL_WORK_SIZE"},
    {CL_INVALID_BUFFER_SIZE, "CL_INVALID_BUFFER_SIZE"},
    {CL_INVALID_EVENT, "CL_INVALID_EVENT"},
    {CL_INVALID_OPERATION, "CL_INVALID_OPERATION"},
};

bool IsOutOfMemory(cl_int code) {
  return code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_HOST_MEMORY;
}

}  // namespace

Result<const OpenClApi*> LoadOpenCl() {
  static const Result<const OpenClApi*> loaded = Load();
  return loaded;
}

std::string OpenClErrorName(cl_int code) {
  for (const ErrorRow& row : kErrors) {
    if (row.code == code) return fmt::format("{} ({})", row.name, code);
  }
  return fmt::format("OpenCL error {}", code);
}

Status OpenClStatus(cl_int code, std::string_view what) {
  if (code == CL_SUCCESS) return OkStatus();
  const StatusCode kind = IsOutOfMemory(code) ? StatusCode::kOutOfMemory : StatusCode::kDeviceError;
  return Error(kind, "{}: {}", what, OpenClErrorName(code));
}

}  // namespace fettle
