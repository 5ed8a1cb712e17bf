// Bytes of a picture file, whatever its format, to a picture.
#pragma once

#include <cstddef>
#include <span>

#include "base/status.h"
#include "io/picture.h"

namespace fettle::tools {

/// Decodes PNG or JPEG, told apart by their first bytes, and turns the picture upright.
Result<Picture> DecodePicture(std::span<const std::byte> bytes);

}  // namespace fettle::tools
