// How a camera was held, as the pictures that it wrote say.
#pragma once

#include <cstddef>
#include <span>

#include "io/picture.h"

namespace fettle::tools {

/// The orientation (1 to 8; Exif 2.32, tag 0x0112) in a TIFF block as JPEG's APP1 (behind "Exif")
/// and PNG's eXIf hold one; 1, upright, where there is none or it is damaged.
int ExifOrientation(std::span<const std::byte> tiff);

/// The picture as it was seen: mirrored and turned as `orientation` says.
Picture Upright(Picture picture, int orientation);

}  // namespace fettle::tools
