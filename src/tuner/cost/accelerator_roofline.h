// Lower bounds of times on a device beside the CPU, from its measured ceilings.
#pragma once

#include "device/device.h"
#include "kernels/kernel.h"
#include "tuner/cost/roofline.h"
#include "tuner/store/store.h"

namespace fettle::tuner {

/// The ceilings that `store` keeps for `device`: those that bounds need. Probes (Backend::probe)
/// and keeps all where it lacks one. Empty, with a warning through the log, where probing fails.
Ceilings LoadAcceleratorCeilings(const Device& device, Store& store);

/// Microseconds that `work` takes at the ceilings: the larger of its arithmetic and its bytes; 0
/// where the ceilings are not known.
double CeilingMicroseconds(const kernels::Work& work, const Ceilings& ceilings);

/// What `work` takes at least: the same less 20 % for what a probe may miss, and no less than a
/// launch.
double LeastMicroseconds(const kernels::Work& work, const Ceilings& ceilings);

}  // namespace fettle::tuner
