// Which containers hold the video of which encoders, found by trying.
#pragma once

#include <string>

#include "av/encoder_row.h"

namespace fettle::enhance {

/// Whether the container gives the encoder's frames back: a few are written to memory, read and
/// decoded, once for each pair. Thread-safe.
bool Carries(const AVOutputFormat& container, const EncoderRow& row);
/// Throws Failure (kExitUnsupported) where the row is a device's encoder and none opens.
void CheckHardware(const EncoderRow& row);

/// "libx264, mpeg4", without `except`; "none of the encoders here".
std::string CarriedBy(const AVOutputFormat& container, std::string_view except = "");
/// "theora, vp8": what the container says it is for, at most five; "sound alone", "no video".
std::string CodecsOf(const AVOutputFormat& container);
/// ".mkv or .mp4": the usual containers that hold the encoder's video.
std::string CarriersOf(const EncoderRow& row);

/// Whether `container` carries video of any row.
bool TakesVideo(const AVOutputFormat& container);

}  // namespace fettle::enhance
