// PNG bytes to and from pictures; its source is the only one that includes libpng.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/status.h"
#include "io/picture.h"

namespace fettle::tools {

/// Whether the bytes begin as a PNG file does.
bool IsPng(std::span<const std::byte> bytes);
/// The picture upright; kInvalidArgument for what is damaged, cut short or too large.
Result<Picture> DecodePng(std::span<const std::byte> bytes);
Status EncodePng(const Picture& picture, std::vector<std::byte>& out);

}  // namespace fettle::tools
