// Lower bounds of times from the machine's measured ceilings.
#pragma once

#include <string>

#include "device/cpu/cpu_device.h"
#include "kernels/kernel.h"
#include "planner/catalogue.h"
#include "tuner/cost/ceilings.h"

namespace fettle::tuner {

/// The time of some work at the ceilings of a device, and which ceiling limits it.
struct Limit {
  double us = 0;       // 0 where the ceilings are not known
  std::string by;      // "fp32 fma", "L2 copy", "fp32 fma, 8 cores"; "" where nothing is counted
  double cold_us = 0;  // the same with all bytes from memory
};

/// On `threads` threads of the CPU: the larger of the time of the work's arithmetic, at the ceiling
/// that it names, and that of its bytes, from the nearest memories that hold them. Figures of
/// several cores are those measured together, or else multiples of one core's.
Limit LimitOf(const kernels::Work& work, int threads, const Ceilings& ceilings,
              const CpuInfo& info);

/// The least time of `work`: the same less 10 %, because a probe may miss the peak, but at least
/// one launch.
double LeastMicroseconds(const kernels::Work& work, int threads, const Ceilings& ceilings,
                         const CpuInfo& info);

/// The work that the entry's kernel states, or the operators' multiply-adds and the operands'
/// bytes.
kernels::Work WorkOf(const planner::Kind& kind, const planner::Entry& entry);

}  // namespace fettle::tuner
