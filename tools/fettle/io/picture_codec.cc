#include "io/picture_codec.h"

#include <algorithm>
#include <string_view>

#include "io/jpeg_codec.h"
#include "io/png_codec.h"

namespace fettle::tools {
namespace {

/// The name of a picture format that is not read, or "".
std::string_view ForeignFormat(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()),
                              std::min<size_t>(bytes.size(), 16));
  if (text.starts_with("GIF8")) return "GIF";
  if (text.starts_with("BM")) return "BMP";
  if (text.starts_with("RIFF") && text.size() >= 12 && text.substr(8, 4) == "WEBP") return "WebP";
  if (text.starts_with(std::string_view("II*\0", 4)) ||
      text.starts_with(std::string_view("MM\0*", 4)))
    return "TIFF";
  if (text.size() >= 12 && text.substr(4, 4) == "ftyp") return "HEIF or AVIF";
  return "";
}

}  // namespace

Result<Picture> DecodePicture(std::span<const std::byte> bytes) {
  if (IsPng(bytes)) return DecodePng(bytes);
  if (IsJpeg(bytes)) return DecodeJpeg(bytes);
  if (const std::string_view format = ForeignFormat(bytes); !format.empty())
    return InvalidArgument("a {} picture; PNG and JPEG are read, convert it first", format);
  return InvalidArgument("not a PNG or JPEG picture");
}

}  // namespace fettle::tools
