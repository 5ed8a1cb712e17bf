// Which codec a picture file of a name has, and which pixels.
#pragma once

#include <filesystem>

#include "av/av.h"

namespace fettle::enhance {

/// Throws Failure (kExitUsage) where no picture has such a name.
const AVCodec& PictureCodecOf(const std::filesystem::path& output);
/// The format of the source where the codec has it, else the nearest.
AVPixelFormat PictureFormatOf(const AVCodec& codec, AVPixelFormat source);
/// Whether this FFmpeg's encoder writes a frame's colour profile (ICC).
bool WritesColourProfile(const AVCodec& codec);

}  // namespace fettle::enhance
