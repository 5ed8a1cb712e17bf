// Lower bounds of times on a device beside the CPU, from its measured ceilings.
#pragma once

#include "kernels/kernel.h"
#include "tuner/cost/ceilings.h"
#include "tuner/cost/roofline.h"

namespace fettle::tuner {

/// The time of `work` at the ceilings: the larger of its arithmetic and its bytes. Cold: the bytes
/// come from the largest memory.
Limit LimitOf(const kernels::Work& work, const Ceilings& ceilings);

/// The least time of `work`: the same less 20 %, because a probe may miss the peak, but at least
/// one launch.
double LeastMicroseconds(const kernels::Work& work, const Ceilings& ceilings);

}  // namespace fettle::tuner
