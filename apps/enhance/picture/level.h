// How coarsely a frame was coded.
#pragma once

#include "av/av.h"

namespace fettle::enhance {

/// The mean level of the blocks of a frame whose decoder exported their quantisers, as H.264
/// counts: 6 log2 of the step over 0.625. Negative where it did not, or where the codec counts in
/// another way.
double LevelOf(const AVFrame& frame);

}  // namespace fettle::enhance
