// Devices, precision and memory by the names that people give them.
#pragma once

#include <memory>
#include <string_view>

#include "device/opencl/opencl_device.h"
#include "planner/choices.h"

namespace fettle::runtime {

struct AcceleratorOptions {
  /// Where built programs are kept: a folder, "" for the user's; null: nowhere.
  const char* programs = nullptr;
  /// Holds for all streams, also those that tuning measures on.
  StreamOptions pacing;
  /// Off, with a warning, where the device has no such memory.
  SharedVirtualMemory svm = SharedVirtualMemory::kOff;
};

/// The device beside the CPU that `name` stands for: null for "auto" and "cpu", else
/// "opencl[:PLATFORM[:DEVICE]]" (indices or parts of names). kInvalidArgument for other names,
/// kDeviceUnavailable, listing what there is, where the device is not there. Devices stay open as
/// long as anyone holds them, and are opened once for each set of options. Thread-safe.
Result<std::shared_ptr<const Device>> OpenAccelerator(std::string_view name,
                                                      const AcceleratorOptions& options = {});

/// "high", "normal" or "low".
Result<planner::Precision> PrecisionFromName(std::string_view name);
/// "auto" (kHost), "buffer" or "image".
Result<MemoryKind> MemoryFromName(std::string_view name);

}  // namespace fettle::runtime
