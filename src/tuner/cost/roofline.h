// Lower bounds of times from the machine's measured ceilings.
#pragma once

#include <string>

#include "device/cpu/cpu_device.h"
#include "kernels/kernel.h"
#include "planner/catalogue.h"
#include "tuner/cost/ceilings.h"

namespace fettle::tuner {

/// What work takes at the ceilings of a device, and which of them says so.
struct Limit {
  double us = 0;       // 0 where the ceilings are not known
  std::string by;      // "fp32 fma", "L2 copy", "fp32 fma, 8 cores"; "" where nothing is counted
  double cold_us = 0;  // the same with all bytes from memory
};

/// On `threads` threads of the CPU: the larger of the work's arithmetic, at the ceiling that it
/// names, and its bytes, from the nearest memories that hold them. Figures of several cores are
/// those measured together, or where there are none so many times those of one.
Limit LimitOf(const kernels::Work& work, int threads, const Ceilings& ceilings,
              const CpuInfo& info);

/// What `work` takes at least: the same less 10 % for what a probe may miss, and no less than one
/// launch.
double LeastMicroseconds(const kernels::Work& work, int threads, const Ceilings& ceilings,
                         const CpuInfo& info);

/// What the entry's kernel says of its work, or the operators' multiply-adds and the operands'
/// bytes.
kernels::Work WorkOf(const planner::Kind& kind, const planner::Entry& entry);

}  // namespace fettle::tuner
