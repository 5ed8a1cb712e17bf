// What pixels lose when they are converted to another format.
#pragma once

#include <string>

#include "av/av.h"

namespace fettle::enhance {

/// "transparency is lost, and 12 bits become 10"; "" where nothing is lost. Alpha counts where
/// `transparent`. Steps work on YUV, so RGB is `rounded` on the way even where it comes out again,
/// unless they have bits to spare.
std::string PixelLoss(AVPixelFormat from, AVPixelFormat to, bool transparent, bool rounded = true);
/// How many parts it has.
int PixelLossCount(AVPixelFormat from, AVPixelFormat to, bool transparent);

}  // namespace fettle::enhance
