// One frame as the bytes of a picture file.
#pragma once

#include <string>

#include "av/av.h"

namespace fettle::enhance {

/// The frame must be of a format that the codec takes. Throws Failure: kExitUnsupported where there
/// is no such encoder.
std::string EncodedPicture(const AVCodec& codec, const AVFrame& frame);
std::string EncodedPicture(AVCodecID codec, const AVFrame& frame);

/// Lets a JPEG file tell how it is to be turned: `orientation` of Exif, 1 to 8.
void SetJpegOrientation(int orientation, std::string& jpeg);

}  // namespace fettle::enhance
