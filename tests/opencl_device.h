// The OpenCL device that tests run on.
#pragma once

#include <cstdlib>

#include "device/opencl/opencl_device.h"

namespace fettle {

/// The device that FETTLE_DEVICE names (as `--device`: "opencl:rusticl"); else PoCL where it is
/// installed, else the first device. Opened once, and never closed: at exit drivers may go first.
/// Its status is the reason to skip a test. PoCL, which compiles for longer than tests compute, is
/// told to optimise nothing, unless FETTLE_FULL_TESTS is set.
inline const Result<std::shared_ptr<OpenClDevice>>& TestOpenClDevice() {
  const auto open = []() -> Result<std::shared_ptr<OpenClDevice>> {
    if (std::getenv("FETTLE_FULL_TESTS") == nullptr)
      setenv("POCL_EXTRA_BUILD_FLAGS", "-cl-opt-disable", /*overwrite=*/0);
    const char* named = std::getenv("FETTLE_DEVICE");
    const std::string_view text = named == nullptr ? "" : named;
    if (const auto colon = text.find(':'); colon != std::string_view::npos)
      return OpenClDevice::Open(text.substr(colon + 1));
    Result<std::shared_ptr<OpenClDevice>> pocl = OpenClDevice::Open("Portable Computing Language");
    return pocl.ok() ? pocl : OpenClDevice::Open();
  };
  static const auto& device = *new Result<std::shared_ptr<OpenClDevice>>(open());
  return device;
}

}  // namespace fettle
