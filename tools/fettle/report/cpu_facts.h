// What `fettle devices` and reports say of the CPU.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "device/cpu/amx.h"
#include "device/cpu/cpu_device.h"
#include "report/report.h"

namespace fettle::tools {

/// Names of the instruction sets that matter here.
std::vector<std::string> IsaNames(const CpuInfo& info);
/// The reverse, one by one; false where it is no such name.
bool AddIsa(std::string_view name, CpuInfo& info, AmxSets& tiles);

/// {name, cores, isa[], l1d_bytes, l2_bytes, l3_bytes, ceilings[] {name, value, unit, spread},
/// fingerprint}; the ceilings, of one core, are probed.
Json CpuJson(const CpuDevice& device);

}  // namespace fettle::tools
