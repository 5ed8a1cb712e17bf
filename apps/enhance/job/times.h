// The times of the result's frames, and how a container counts them.
#pragma once

#include <string>
#include <vector>

#include "job/plan.h"

namespace fettle::enhance {

/// Of all frames of the result, rising, in the encoder's time base, as the input's packets tell
/// them; the whole input is read. Empty where packets have no times.
std::vector<int64_t> TimesOfResult(const Plan& plan);

/// The ticks that AVI counts frames in: the longest that meet all of `times` from the plan's begin
/// on, unless these are much shorter than a frame; then a frame's usual length.
AVRational FrameClock(const Plan& plan, const std::vector<int64_t>& times);

/// A sentence with the largest change where a container that counts in `clock` from the plan's
/// begin on rounds times of frames, or gives each one tick; "" where it changes none. Throws
/// Failure (kExitUnsupported) where two frames would get one time and the container has no such.
std::string RoundingLoss(const Plan& plan, AVRational clock);

/// "0.33 ms", "1.5 s".
std::string DurationText(double seconds);

}  // namespace fettle::enhance
