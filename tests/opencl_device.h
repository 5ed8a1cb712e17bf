// The OpenCL device that tests run on.
#pragma once

#include <cstdlib>

#include "device/opencl/opencl_device.h"

namespace fettle {

/// PoCL where it is installed, else the first device; or the one that FETTLE_TEST_OPENCL names
/// ("PLATFORM" or "PLATFORM:DEVICE"). Opened once. Its status is the reason to skip a test.
inline const Result<std::shared_ptr<OpenClDevice>>& TestOpenClDevice() {
  static const Result<std::shared_ptr<OpenClDevice>> device = [] {
    const char* name = std::getenv("FETTLE_TEST_OPENCL");
    if (name != nullptr) return OpenClDevice::Open(name);
    Result<std::shared_ptr<OpenClDevice>> pocl = OpenClDevice::Open("Portable Computing Language");
    return pocl.ok() ? pocl : OpenClDevice::Open();
  }();
  return device;
}

}  // namespace fettle
