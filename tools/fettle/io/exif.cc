#include "io/exif.h"

#include <cstdint>
#include <utility>

namespace fettle::tools {
namespace {

constexpr uint32_t kOrientationTag = 0x0112, kShort = 3;
constexpr size_t kEntryBytes = 12;

/// Numbers of a TIFF block, 0 behind its end.
struct Tiff {
  std::span<const std::byte> bytes;
  bool big_endian = false;

  uint32_t Number(size_t at, size_t size) const {
    if (at > bytes.size() || size > bytes.size() - at) return 0;
    uint32_t value = 0;
    for (size_t i = 0; i < size; ++i) {
      const size_t from = big_endian ? at + i : at + size - 1 - i;
      value = value << 8 | std::to_integer<uint32_t>(bytes[from]);
    }
    return value;
  }
};

/// Interleaved samples of `width` columns, each output sample taken from where it was seen.
std::vector<float> Turned(const std::vector<float>& from, int channels, int64_t width,
                          int64_t height, int orientation) {
  const bool swaps = orientation >= 5;
  const int64_t out_width = swaps ? height : width, out_height = swaps ? width : height;
  std::vector<float> out;
  out.reserve(from.size());
  for (int64_t y = 0; y < out_height; ++y) {
    for (int64_t x = 0; x < out_width; ++x) {
      int64_t column = swaps ? y : x, row = swaps ? x : y;
      // Which side of the file's picture is the right, and which the lower one of what was seen.
      if (orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8)
        column = width - 1 - column;
      if (orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7)
        row = height - 1 - row;
      const auto at = static_cast<size_t>((row * width + column) * channels);
      for (size_t c = 0; c < static_cast<size_t>(channels); ++c) out.push_back(from[at + c]);
    }
  }
  return out;
}

}  // namespace

int ExifOrientation(std::span<const std::byte> tiff) {
  Tiff block{tiff};
  const uint32_t order = block.Number(0, 2);
  if (order != 0x4949 && order != 0x4D4D) return 1;
  block.big_endian = order == 0x4D4D;
  if (block.Number(2, 2) != 42) return 1;
  const size_t directory = block.Number(4, 4);
  const uint32_t entries = block.Number(directory, 2);
  for (uint32_t i = 0; i < entries; ++i) {
    const size_t entry = directory + 2 + i * kEntryBytes;
    if (entry + kEntryBytes > tiff.size()) break;
    if (block.Number(entry, 2) != kOrientationTag) continue;
    const uint32_t value = block.Number(entry + 8, 2);
    return block.Number(entry + 2, 2) == kShort && value >= 1 && value <= 8
               ? static_cast<int>(value)
               : 1;
  }
  return 1;
}

Picture Upright(Picture picture, int orientation) {
  if (orientation <= 1 || orientation > 8) return picture;
  picture.samples =
      Turned(picture.samples, picture.channels, picture.width, picture.height, orientation);
  if (!picture.alpha.empty())
    picture.alpha = Turned(picture.alpha, 1, picture.width, picture.height, orientation);
  if (orientation >= 5) std::swap(picture.width, picture.height);
  return picture;
}

}  // namespace fettle::tools
