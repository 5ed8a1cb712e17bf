// Frames of the library's callers as FFmpeg has them, and back.
#pragma once

#include <fettle/enhance.h>

#include "av/av.h"

namespace fettle::enhance {

/// Throws Failure (kExitUsage) where there are no such pixels.
AVPixelFormat FormatOfPixels(fettle_pixels pixels);
/// The pixels of `format`; throws Failure where the library has none.
fettle_pixels PixelsOfFormat(AVPixelFormat format);

/// The caller's planes, not copied and not to be written; they live as long as the caller's call.
/// Throws Failure (kExitUsage) where a plane or a stride cannot be.
FramePtr Borrowed(const fettle_frame& frame);
/// A copy with memory of its own.
FramePtr Copied(const AVFrame& frame);
/// Whether a plane of `result` lies in memory of `frame`.
bool SharesPlanes(const AVFrame& result, const AVFrame& frame);
/// `frame` as the caller gets it, who owns it from then on.
void Lend(FramePtr frame, fettle_pixels pixels, int64_t time, fettle_frame& result);

}  // namespace fettle::enhance
