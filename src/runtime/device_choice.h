// Devices, precision, memory and the like by the names that people give them.
#pragma once

#include <memory>
#include <string_view>

#include "planner/choices.h"

namespace fettle::runtime {

/// The device beside the CPU that `name` stands for (kernels::DeviceChoices): null for "auto" and
/// "cpu", else a backend's name, and behind a colon what its Backend::open takes. kInvalidArgument
/// for other names, kDeviceUnavailable, listing what there is, where the device is not there.
/// Devices stay open as long as anyone holds them, and are opened once for each set of options.
/// Thread-safe.
Result<std::shared_ptr<const Device>> OpenAccelerator(std::string_view name,
                                                      const OpenOptions& options = {});

/// "high", "normal" or "low".
Result<planner::Precision> PrecisionFromName(std::string_view name);
/// "off", "coarse" or "fine".
Result<SharedVirtualMemory> SharedMemoryFromName(std::string_view name);
/// "auto" (kHost), "buffer" or "image".
Result<MemoryKind> MemoryFromName(std::string_view name);
/// "ready" (false) or "fast": SessionOptions::starts_fast.
Result<bool> StartsFastFromName(std::string_view name);
/// "flush" or "keep".
Result<Subnormals> SubnormalsFromName(std::string_view name);

}  // namespace fettle::runtime
