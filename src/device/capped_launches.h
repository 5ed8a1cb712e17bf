// What a device's launches took under a cap on their time (StreamOptions::kernel_ms).
#pragma once

#include <optional>

#include "device/device.h"

namespace fettle {

/// The first ones too, which learn how far a launch may go.
struct CappedLaunches {
  double cap_ms = 0;
  int64_t count = 0, over = 0;  // over: longer than the cap
  double longest_ms = 0;
};
/// Those of `device` so far; unset where it has no cap.
std::optional<CappedLaunches> CappedLaunchesOf(const Device& device);

}  // namespace fettle
