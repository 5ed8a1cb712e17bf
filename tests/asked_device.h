// An OpenCL device that is asked for its limits, and computes nothing.
#pragma once

#include <memory>
#include <string_view>

#include "device/device.h"

namespace fettle {

class AskedDevice final : public Device {
 public:
  explicit AskedDevice(bool replays) : replays_(replays) {}
  DeviceKind kind() const override { return DeviceKind::kOpenCl; }
  std::string_view name() const override { return "asked"; }
  std::string_view fingerprint() const override { return "asked"; }
  Result<std::shared_ptr<DeviceMemory>> Allocate(const MemoryRequest&) const override {
    return Error(StatusCode::kUnsupported, "nothing is allocated here");
  }
  Result<std::unique_ptr<Stream>> NewStream(const StreamOptions&) const override {
    return Error(StatusCode::kUnsupported, "nothing runs here");
  }
  bool replays_launches() const override { return replays_; }

 private:
  bool replays_;
};

}  // namespace fettle
