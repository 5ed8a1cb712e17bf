// Which encoder a container's video is made by.
#pragma once

#include <string>
#include <vector>

#include "av/encoder_row.h"

namespace fettle::enhance {

/// The row of `name`; of "auto" the first that this FFmpeg has and `container` holds; where
/// `format` has alpha, of those that keep it the one that loses least of the pixels. Throws Failure
/// (kExitUnsupported) with what the container, named by `suffix`, holds, kExitUsage where no row
/// has the name.
const EncoderRow& ChooseEncoder(const std::string& name, const AVOutputFormat& container,
                                const std::string& suffix, AVPixelFormat format);

/// That one, and for "auto" behind it the others that `container` holds: encoders have limits of
/// their own, on sizes above all.
std::vector<std::string> EncodersToTry(const std::string& name, const AVOutputFormat& container,
                                       const std::string& suffix, AVPixelFormat format);

}  // namespace fettle::enhance
