// Chooses the encoder of a container's video.
#pragma once

#include <string>
#include <vector>

#include "av/encoder_row.h"

namespace fettle::enhance {

/// The row of `name`. For "auto" the first one that this FFmpeg has and `container` holds; where
/// `format` has alpha, the one of those keeping it that loses least of the pixels. Throws Failure:
/// kExitUnsupported, listing what the container, named by `suffix`, holds; kExitUsage where no row
/// has the name.
const EncoderRow& ChooseEncoder(const std::string& name, const AVOutputFormat& container,
                                const std::string& suffix, AVPixelFormat format);

/// That one, and for "auto" behind it the others that `container` holds: encoders have limits of
/// their own, on sizes above all.
std::vector<std::string> EncodersToTry(const std::string& name, const AVOutputFormat& container,
                                       const std::string& suffix, AVPixelFormat format);

}  // namespace fettle::enhance
