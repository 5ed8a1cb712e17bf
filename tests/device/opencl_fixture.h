// What tests of an OpenCL device share: the device, or a skip that says why there is none.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "device/opencl/opencl_stream.h"

namespace fettle {

/// Opens the device that FETTLE_DEVICE names (as `--device`: "opencl:rusticl"), else the default.
class OpenClTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* named = std::getenv("FETTLE_DEVICE");
    const std::string_view text = named == nullptr ? "" : named;
    const auto colon = text.find(':');
    Result<std::shared_ptr<OpenClDevice>> opened = OpenClDevice::Open(
        colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1));
    if (!opened.ok()) GTEST_SKIP() << "no OpenCL device: " << opened.status().message();
    device_ = *opened;
    stream_ = NewStream({});
  }

  std::unique_ptr<OpenClStream> NewStream(const StreamOptions& options) const {
    return OpenClStream::Create(device_, options).value();
  }
  /// The same device opened anew, with options.
  Result<std::shared_ptr<OpenClDevice>> OpenAgain(const OpenClOptions& options) const {
    const std::vector<OpenClListing> listings = ListOpenClDevices().value();
    const auto same =
        std::find_if(listings.begin(), listings.end(),
                     [&](const OpenClListing& listing) { return listing.device == device_->id(); });
    return OpenClDevice::Open(*same, options);
  }
  std::shared_ptr<DeviceMemory> NewBuffer(int64_t bytes) const {
    return device_->Allocate({.kind = MemoryKind::kBuffer, .bytes = bytes}).value();
  }
  std::shared_ptr<DeviceMemory> NewImage(int64_t width, int64_t height, DType storage) const {
    return device_
        ->Allocate(
            {.kind = MemoryKind::kImage2d, .width = width, .height = height, .storage = storage})
        .value();
  }

  std::shared_ptr<OpenClDevice> device_;
  std::unique_ptr<OpenClStream> stream_;
};

/// out[i] = i * factor for the items below `count`.
inline ProgramSource ScaleProgram() {
  return {"scale",
          "__kernel void scale(__global float* out, float factor, int count) {\n"
          "  const int i = get_global_id(0) + get_global_size(0) * get_global_id(1);\n"
          "  if (i < count) out[i] = i * factor;\n"
          "}\n",
          ""};
}

}  // namespace fettle
