// Pictures: PNG (8 and 16 bit) and JPEG, in memory as RGB or grey with optional alpha.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace fettle::tools {

/// Samples interleaved, rows top to bottom, each in [0, 1]. Channels: 1 grey, 3 RGB; alpha apart,
/// empty where the picture has none.
struct Picture {
  int64_t width = 0, height = 0;
  int channels = 3;
  /// Bits per sample of the file it came from, or of the file to write: 8 or 16.
  int bits = 8;
  /// The Exif orientation that the file gives; the samples are upright already.
  int orientation = 1;
  std::vector<float> samples;
  std::vector<float> alpha;

  int64_t pixels() const { return width * height; }
};

/// Reads by contents, not by name, and turns it upright. Palettes and CMYK become RGB. Fails with
/// kInvalidArgument on damaged or enormous pictures and on other formats, by their names.
Result<Picture> ReadPicture(const std::string& path);

/// Writes .png or .jpg/.jpeg by name, whole or not at all; JPEG drops alpha and 16 bit.
Status WritePicture(const std::string& path, const Picture& picture);

/// True for the names that WritePicture accepts.
bool IsPictureName(const std::string& path);
/// True for names of picture formats that are neither read nor written: "x.gif".
bool IsForeignPictureName(const std::string& path);

/// Cubic resampling (Keys, a = -0.5; the kernel is widened where it shrinks, so that nothing
/// aliases) of interleaved samples.
std::vector<float> ResizeSamples(const std::vector<float>& samples, int channels, int64_t width,
                                 int64_t height, int64_t new_width, int64_t new_height);

/// The picture at another size, alpha included.
Picture Resize(const Picture& picture, int64_t width, int64_t height);

/// Full-range BT.601 luma and chroma (Cb, Cr centred at 0.5).
void RgbToYcc(const float* rgb, float* ycc);
void YccToRgb(const float* ycc, float* rgb);

}  // namespace fettle::tools
