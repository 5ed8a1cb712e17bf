// One frame as the bytes of a picture file.
#pragma once

#include <string>

#include "av/av.h"

namespace fettle::enhance {

/// The frame must be of a format that the codec takes. Throws Failure: kExitUnsupported where there
/// is no such encoder.
std::string EncodedPicture(const AVCodec& codec, const AVFrame& frame);
std::string EncodedPicture(AVCodecID codec, const AVFrame& frame);

}  // namespace fettle::enhance
