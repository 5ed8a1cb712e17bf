// What `fettle devices` and reports say of the CPU.
#pragma once

#include "device/cpu/cpu_device.h"
#include "report/report.h"

namespace fettle::tools {

/// Names of the instruction sets that matter here.
std::vector<std::string> IsaNames(const CpuInfo& info);

/// {name, cores, isa[], l1d_bytes, l2_bytes, l3_bytes, ceilings[] {name, value, unit, spread},
/// fingerprint}; the ceilings, of one core, are probed.
Json CpuJson(const CpuDevice& device);

}  // namespace fettle::tools
