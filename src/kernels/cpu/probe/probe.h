// The ceilings of this machine, measured: what kernels' times are compared with.
#pragma once

#include <atomic>
#include <vector>

#include "device/cpu/cpu_device.h"
#include "kernels/ceiling.h"

namespace fettle::kernels {

/// What bounds are made of, of one core: "fp32 fma", "int8 dot", "int8 max", "bf16 dot", "bit dot",
/// "L1 read", "L1 copy", ... "DRAM copy"; of them those that this machine has. Runs about 200 ms on
/// the calling thread, the first time in a process; later calls return the same. None where it was
/// cancelled (ProbeRequest::cancelled). Thread-safe.
const std::vector<Ceiling>& Probe(const CpuDevice& device,
                                  const std::atomic<bool>* cancelled = nullptr);

/// The ceilings that are asked for, measured again; what this machine has not with the reason.
/// Those of several cores run on the device's pool, which nobody else should use then. All of them
/// take about 10 s (docs/peaks.md says what each is).
std::vector<Ceiling> ProbeCpu(const CpuDevice& device, const ProbeRequest& request);

}  // namespace fettle::kernels
