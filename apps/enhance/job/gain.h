// The gain of a step on a sample of the clip that is degraded once more.
#pragma once

#include <optional>

#include "job/plan.h"

namespace fettle::enhance {

/// Codes eight frames of the clip's middle once more by libx264, at twice the step that the
/// survey found, removes what that left by deblock (by its widest network where none is chosen
/// yet), and compares both with the frames as they were: decibels of luma. None where there is no
/// such encoder. Throws Failure where it does not take such frames.
std::optional<double> DeblockGain(const Plan& plan);

/// Halves a frame of the clip's middle, doubles it again by the plan's superres and by Lanczos, and
/// compares both with the frame: decibels of luma. None where frames are too small.
std::optional<double> SuperresGain(const Plan& plan);

}  // namespace fettle::enhance
