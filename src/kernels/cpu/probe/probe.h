// The ceilings of this machine, measured: what kernels' times are compared with.
#pragma once

#include <vector>

#include "device/cpu/cpu_device.h"
#include "kernels/backend.h"

namespace fettle::kernels {

/// All ceilings of one core that this machine has: "fp32 fma", "int8 dot", "bf16 dot", "L1 read",
/// "L2 read", "L3 read", "DRAM read" (no dots without such instructions, no cache level of unknown
/// size). Runs about 100 ms on the calling thread, the first time in a process; later calls return
/// the same. Thread-safe.
const std::vector<Ceiling>& Probe(const CpuDevice& device);

}  // namespace fettle::kernels
