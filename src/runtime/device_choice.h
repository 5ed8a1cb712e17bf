// Devices, precision, memory and similar options by the names that users give them.
#pragma once

#include <memory>
#include <string_view>

#include "kernels/backend.h"
#include "planner/choices.h"

namespace fettle::runtime {

/// The device beside the CPU that `name` stands for (kernels::DeviceChoices). Null for "auto" and
/// "cpu"; otherwise a backend's name and, behind a colon, the argument of its Backend::open.
/// kInvalidArgument for other names; kDeviceUnavailable, listing the devices present, where the
/// device is absent. Devices are opened once for each set of options, and stay open as long as
/// anyone holds them. Thread-safe.
Result<std::shared_ptr<const Device>> OpenAccelerator(std::string_view name,
                                                      const OpenOptions& options = {});

/// "high", "normal" or "low".
Result<planner::Precision> PrecisionFromName(std::string_view name);
/// "off", "coarse" or "fine"; "auto": UsualSharedMemory of the accelerator that `device` names, off
/// where there is none.
Result<SharedVirtualMemory> SharedMemoryFromName(std::string_view name, std::string_view device,
                                                 const OpenOptions& options = {});
/// For a device with these facts: fine where it shares the host's memory and supports fine, because
/// then nothing is mapped; coarse on Adreno; else off.
SharedVirtualMemory UsualSharedMemory(const kernels::Facts& facts);
/// "auto" (kHost), "buffer" or "image".
Result<MemoryKind> MemoryFromName(std::string_view name);
/// "ready" (false) or "fast": SessionOptions::starts_fast.
Result<bool> StartsFastFromName(std::string_view name);
/// "flush" or "keep".
Result<Subnormals> SubnormalsFromName(std::string_view name);

}  // namespace fettle::runtime
