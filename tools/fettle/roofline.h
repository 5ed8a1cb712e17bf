// How close steps come to what this machine can do at best.
#pragma once

#include <vector>

#include "exec/profile.h"

namespace fettle::tools {

/// The time that the steps' multiply-adds and bytes take at the probed ceilings of `threads` cores
/// (tuner/roofline.h) over the time measured; 0 where nothing was counted or measured. Probes the
/// machine at the first call.
double RooflineShare(const std::vector<exec::StepProfile>& steps, int threads);
double RooflineShare(const exec::StepProfile& step, int threads);

}  // namespace fettle::tools
