// Planes of alpha that were enlarged: where they are even, and bounds of what is not.
#pragma once

#include "picture/samples.h"

namespace fettle::enhance {

/// Whether all samples are the same.
bool IsEven(const Plane& plane);

/// Clamps each sample of `enlarged`, of twice the size, to what the 3x3 samples of `from` around
/// its place span.
void KeepWithinNeighbours(const Plane& from, const Plane& enlarged);

}  // namespace fettle::enhance
