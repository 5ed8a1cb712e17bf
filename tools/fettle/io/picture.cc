#include "io/picture.h"

#include <algorithm>
#include <cmath>

#include "base/file.h"
#include "io/jpeg_codec.h"
#include "io/picture_codec.h"
#include "io/png_codec.h"

namespace fettle::tools {
namespace {

std::string LowerExtension(const std::string& path) {
  const size_t dot = path.rfind('.');
  std::string extension = dot == std::string::npos ? "" : path.substr(dot + 1);
  for (char& c : extension) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return extension;
}

double CubicWeight(double x) {
  constexpr double kA = -0.5;
  x = std::abs(x);
  if (x < 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
  if (x < 2) return ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA;
  return 0;
}

struct Taps {
  int64_t first = 0;
  std::vector<float> weights;
};

/// The weights of each output position along one axis, normalised, edges repeated.
std::vector<Taps> MakeTaps(int64_t extent, int64_t new_extent) {
  const double scale = static_cast<double>(extent) / static_cast<double>(new_extent);
  const double stretch = std::max(1.0, scale);
  std::vector<Taps> taps(static_cast<size_t>(new_extent));
  for (int64_t i = 0; i < new_extent; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale - 0.5;
    const auto low = static_cast<int64_t>(std::ceil(centre - 2 * stretch));
    const auto high = static_cast<int64_t>(std::floor(centre + 2 * stretch));
    Taps& tap = taps[static_cast<size_t>(i)];
    tap.first = std::clamp<int64_t>(low, 0, extent - 1);
    tap.weights.assign(
        static_cast<size_t>(std::clamp<int64_t>(high, 0, extent - 1) - tap.first + 1), 0.0f);
    double sum = 0;
    for (int64_t j = low; j <= high; ++j)
      sum += CubicWeight((static_cast<double>(j) - centre) / stretch);
    for (int64_t j = low; j <= high; ++j) {
      const double weight = CubicWeight((static_cast<double>(j) - centre) / stretch) / sum;
      const auto at = static_cast<size_t>(std::clamp<int64_t>(j, 0, extent - 1) - tap.first);
      tap.weights[at] += static_cast<float>(weight);
    }
  }
  return taps;
}

}  // namespace

Result<Picture> ReadPicture(const std::string& path) {
  ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  auto picture = DecodePicture(file->bytes());
  if (!picture.ok()) return picture.status().WithContext(path);
  return picture;
}

bool IsPictureName(const std::string& path) {
  const std::string extension = LowerExtension(path);
  return extension == "png" || extension == "jpg" || extension == "jpeg";
}

bool IsForeignPictureName(const std::string& path) {
  static constexpr std::string_view kNames[] = {"gif",  "bmp",  "webp", "tif",
                                                "tiff", "heic", "avif", "jxl"};
  return std::ranges::find(kNames, LowerExtension(path)) != std::end(kNames);
}

Status WritePicture(const std::string& path, const Picture& picture) {
  std::vector<std::byte> bytes;
  const bool png = LowerExtension(path) == "png";
  const Status status = png ? EncodePng(picture, bytes) : EncodeJpeg(picture, bytes);
  if (!status.ok()) return status.WithContext(path);
  return WriteFile(path, bytes);
}

std::vector<float> ResizeSamples(const std::vector<float>& samples, int channels, int64_t width,
                                 int64_t height, int64_t new_width, int64_t new_height) {
  const std::vector<Taps> columns = MakeTaps(width, new_width), rows = MakeTaps(height, new_height);
  const auto at = [&](int64_t y, int64_t x, int64_t stride) {
    return static_cast<size_t>((y * stride + x) * channels);
  };
  std::vector<float> narrow(static_cast<size_t>(height * new_width * channels));
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < new_width; ++x) {
      const Taps& tap = columns[static_cast<size_t>(x)];
      for (size_t k = 0; k < tap.weights.size(); ++k) {
        const size_t from = at(y, tap.first + static_cast<int64_t>(k), width);
        for (size_t c = 0; c < static_cast<size_t>(channels); ++c)
          narrow[at(y, x, new_width) + c] += tap.weights[k] * samples[from + c];
      }
    }
  }
  std::vector<float> out(static_cast<size_t>(new_height * new_width * channels));
  const auto row_size = static_cast<size_t>(new_width * channels);
  for (int64_t y = 0; y < new_height; ++y) {
    const Taps& tap = rows[static_cast<size_t>(y)];
    for (size_t k = 0; k < tap.weights.size(); ++k) {
      const size_t from = at(tap.first + static_cast<int64_t>(k), 0, new_width);
      for (size_t i = 0; i < row_size; ++i)
        out[at(y, 0, new_width) + i] += tap.weights[k] * narrow[from + i];
    }
  }
  for (float& value : out) value = std::clamp(value, 0.0f, 1.0f);
  return out;
}

Picture Resize(const Picture& picture, int64_t width, int64_t height) {
  Picture out = picture;
  out.width = width;
  out.height = height;
  out.samples = ResizeSamples(picture.samples, picture.channels, picture.width, picture.height,
                              width, height);
  if (!picture.alpha.empty())
    out.alpha = ResizeSamples(picture.alpha, 1, picture.width, picture.height, width, height);
  return out;
}

void RgbToYcc(const float* rgb, float* ycc) {
  const float y = 0.299f * rgb[0] + 0.587f * rgb[1] + 0.114f * rgb[2];
  ycc[0] = y;
  ycc[1] = 0.5f + (rgb[2] - y) / 1.772f;
  ycc[2] = 0.5f + (rgb[0] - y) / 1.402f;
}

void YccToRgb(const float* ycc, float* rgb) {
  const float y = ycc[0], cb = ycc[1] - 0.5f, cr = ycc[2] - 0.5f;
  rgb[0] = y + 1.402f * cr;
  rgb[1] = y - (0.114f * 1.772f * cb + 0.299f * 1.402f * cr) / 0.587f;
  rgb[2] = y + 1.772f * cb;
}

}  // namespace fettle::tools
