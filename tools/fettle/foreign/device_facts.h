// The facts of a device that is not here, as `fettle peak --json` printed them there.
#pragma once

#include <string>
#include <vector>

#include "device/cpu/amx.h"
#include "device/cpu/cpu_device.h"
#include "kernels/backend.h"

namespace fettle::tools {

struct DeviceFacts {
  std::string file;
  CpuInfo cpu;
  AmxSets tiles;
  std::vector<kernels::Ceiling> cpu_ceilings;
  /// The device beside that CPU which was measured; null: it was the CPU alone.
  const kernels::Backend* backend = nullptr;
  kernels::Facts accelerator;
  std::vector<kernels::Ceiling> accelerator_ceilings;
};

/// Of a file, which may be compressed. Facts that no device has fail with kInvalidArgument, naming
/// the member.
Result<DeviceFacts> ReadDeviceFacts(const std::string& path);

}  // namespace fettle::tools
