// How close steps come to what this machine can do at best.
#pragma once

#include <vector>

#include "exec/profile.h"

namespace fettle::tools {

/// The least time in milliseconds that a step can take: its multiply-adds at the probed peak of
/// `threads` cores, or its bytes at the probed read bandwidth of the smallest cache that holds
/// them, whichever is longer. 0 where nothing was counted. Probes the machine at the first call.
double LeastMilliseconds(const exec::StepProfile& step, int threads);

/// Least time over measured time; 0 where either is unknown.
double RooflineShare(const exec::StepProfile& step, int threads);
double RooflineShare(const std::vector<exec::StepProfile>& steps, int threads);

}  // namespace fettle::tools
