// What to give a driver that keeps no machine code, instead of PTX.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "device/cuda/primary_context.h"
#include "device/opencl/api.h"

namespace fettle {

/// NVIDIA's OpenCL driver gives PTX as a program's binary, and compiles that again where it is
/// loaded, one program after the other, unless it finds the machine code in its cache. Where that
/// is off, the CUDA driver compiles PTX here, several programs at once. Thread-safe.
class ProgramLinker {
 public:
  /// Whether the driver keeps nothing: by CUDA_CACHE_DISABLE, or without a home to keep it in.
  static bool IsNeeded();

  ProgramLinker(const OpenClApi& api, cl_device_id device) : api_(api), device_(device) {}

  /// Machine code of PTX; empty for other binaries and where there is no such driver.
  std::vector<std::byte> Link(std::span<const std::byte> binary);

 private:
  void Open();

  const OpenClApi& api_;
  cl_device_id device_;
  std::once_flag opened_;
  std::shared_ptr<cuda::PrimaryContext> context_;
};

}  // namespace fettle
