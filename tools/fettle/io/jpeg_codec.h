// JPEG bytes to and from pictures; its source is the only one that includes libjpeg.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/status.h"
#include "io/picture.h"

namespace fettle::tools {

/// Whether the bytes begin as a JPEG file does.
bool IsJpeg(std::span<const std::byte> bytes);
/// The picture upright and in RGB or grey; kInvalidArgument for what is damaged, cut short or too
/// large.
Result<Picture> DecodeJpeg(std::span<const std::byte> bytes);
/// Quality 95, no chroma subsampling.
Status EncodeJpeg(const Picture& picture, std::vector<std::byte>& out);

}  // namespace fettle::tools
