// Devices, precision and memory by the names that people give them.
#pragma once

#include <memory>
#include <string_view>

#include "device/device.h"
#include "planner/choices.h"

namespace fettle::runtime {

/// The device beside the CPU that `name` stands for: null for "auto" and "cpu", else
/// "opencl[:PLATFORM[:DEVICE]]" (indices or parts of names). kInvalidArgument for other names,
/// kDeviceUnavailable, listing what there is, where the device is not there. Devices stay open as
/// long as anyone holds them, and are opened once. Built programs are kept in `programs`: a folder,
/// "" for the user's; null: nowhere. Thread-safe.
Result<std::shared_ptr<const Device>> OpenAccelerator(std::string_view name,
                                                      const char* programs = nullptr);

/// "high", "normal" or "low".
Result<planner::Precision> PrecisionFromName(std::string_view name);
/// "auto" (kHost), "buffer" or "image".
Result<MemoryKind> MemoryFromName(std::string_view name);

}  // namespace fettle::runtime
