// Lower bounds of times on a device beside the CPU, from its measured ceilings.
#pragma once

#include "kernels/kernel.h"
#include "tuner/cost/ceilings.h"
#include "tuner/cost/roofline.h"

namespace fettle::tuner {

/// What `work` takes at the ceilings: the larger of its arithmetic and its bytes; cold, with bytes
/// from its largest memory.
Limit LimitOf(const kernels::Work& work, const Ceilings& ceilings);

/// What `work` takes at least: the same less 20 % for what a probe may miss, and no less than a
/// launch.
double LeastMicroseconds(const kernels::Work& work, const Ceilings& ceilings);

}  // namespace fettle::tuner
