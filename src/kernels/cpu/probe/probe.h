// The ceilings of this machine, measured: what kernels' times are compared with.
#pragma once

#include <string_view>
#include <vector>

#include "device/cpu/cpu_device.h"

namespace fettle::kernels {

/// One measured ceiling of one core.
struct Ceiling {
  std::string_view name;  // "fp32 fma", "int8 dot", "L1 read", "L2 read", "L3 read", "DRAM read"
  double value = 0;       // the best repeat
  std::string_view unit;  // "FLOP/s", "OP/s" or "B/s"; a multiply-add counts two
  double spread = 0;      // (best - worst) / best over the repeats: how far to trust it
};

/// All ceilings that this machine has (no "int8 dot" without such instructions, no cache level of
/// unknown size). Runs about 100 ms on the calling thread, the first time in a process; later calls
/// return the same. Thread-safe.
const std::vector<Ceiling>& Probe(const CpuDevice& device);

}  // namespace fettle::kernels
