// PNG and JPEG bytes to and from pictures; the only place that includes libpng and libjpeg.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/status.h"
#include "io/picture.h"

namespace fettle::tools {

/// The largest picture that is read, in pixels.
inline constexpr int64_t kMaxPixels = int64_t{1} << 28;

/// Decodes PNG or JPEG, told apart by their first bytes, and turns the picture upright.
Result<Picture> DecodePicture(std::span<const std::byte> bytes);
Status EncodePng(const Picture& picture, std::vector<std::byte>& out);
/// Quality 95, no chroma subsampling.
Status EncodeJpeg(const Picture& picture, std::vector<std::byte>& out);

}  // namespace fettle::tools
