// Kernels whose work-items share sums by shuffles of a warp (one_row/lanes.clh).
#pragma once

#include "device/opencl/facts.h"

namespace fettle::kernels {

/// Whether the device takes PTX, which has them.
inline bool TakesPtx(const OpenClFacts& of) { return of.mma.available && !of.mma.emulated; }

}  // namespace fettle::kernels
