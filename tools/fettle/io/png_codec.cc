#include "io/png_codec.h"

#include <png.h>

#include <cstring>
#include <string>

#include "io/codec_parts.h"
#include "io/exif.h"

namespace fettle::tools {
namespace {

[[noreturn]] void OnPngError(png_structp png, png_const_charp message) {
  auto* error = static_cast<CodecError*>(png_get_error_ptr(png));
  error->message = message;
  std::longjmp(error->jump, 1);
}
void OnPngWarning(png_structp, png_const_charp) {}

void ReadPngBytes(png_structp png, png_bytep out, size_t size) {
  auto* left = static_cast<std::span<const std::byte>*>(png_get_io_ptr(png));
  if (size > left->size()) png_error(png, "the file is cut short");
  std::memcpy(out, left->data(), size);
  *left = left->subspan(size);
}

void WritePngBytes(png_structp png, png_bytep bytes, size_t size) {
  auto* out = static_cast<std::vector<std::byte>*>(png_get_io_ptr(png));
  const auto* from = reinterpret_cast<const std::byte*>(bytes);
  out->insert(out->end(), from, from + size);
}
void FlushPng(png_structp) {}

/// What libpng hands over: 8 or 16 bit, native order, 1 to 4 channels, rows dense.
struct RawPng {
  int64_t width = 0, height = 0;
  int channels = 0;
  int bits = 0;
  int orientation = 1;
  std::vector<png_byte> bytes;
  std::vector<png_bytep> rows;
};

void SetPngTransforms(png_structp png, png_infop info) {
  png_set_palette_to_rgb(png);
  png_set_expand_gray_1_2_4_to_8(png);
  if (png_get_valid(png, info, PNG_INFO_tRNS) != 0) png_set_tRNS_to_alpha(png);
  png_set_swap(png);
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
}

/// Everything with a destructor lives in the caller, so that longjmp skips none.
bool DecodePngRaw(png_structp png, png_infop info, CodecError& error, RawPng& raw) {
  if (setjmp(error.jump) != 0) return false;
  png_read_info(png, info);
  raw.width = png_get_image_width(png, info);
  raw.height = png_get_image_height(png, info);
  if (raw.width * raw.height > kMaxPixels) png_error(png, "the picture is too large");
  SetPngTransforms(png, info);
  raw.channels = png_get_channels(png, info);
  raw.bits = png_get_bit_depth(png, info);
  const size_t row_bytes = png_get_rowbytes(png, info);
  raw.bytes.resize(row_bytes * static_cast<size_t>(raw.height));
  for (int64_t y = 0; y < raw.height; ++y)
    raw.rows.push_back(raw.bytes.data() + row_bytes * static_cast<size_t>(y));
  png_read_image(png, raw.rows.data());
  // Exif may follow the picture.
  png_read_end(png, info);
  png_uint_32 size = 0;
  png_bytep exif = nullptr;
  if (png_get_eXIf_1(png, info, &size, &exif) != 0)
    raw.orientation = ExifOrientation(std::as_bytes(std::span(exif, size)));
  return true;
}

float RawSample(const RawPng& raw, size_t i) {
  if (raw.bits == 8) return static_cast<float>(raw.bytes[i]) / 255.0f;
  uint16_t value;
  std::memcpy(&value, raw.bytes.data() + 2 * i, 2);
  return static_cast<float>(value) / 65535.0f;
}

bool EncodePngRaw(png_structp png, png_infop info, CodecError& error, const RawPng& raw,
                  int color_type) {
  if (setjmp(error.jump) != 0) return false;
  png_set_IHDR(png, info, static_cast<png_uint_32>(raw.width), static_cast<png_uint_32>(raw.height),
               raw.bits, color_type, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  png_set_swap(png);
  png_write_image(png, const_cast<png_bytepp>(raw.rows.data()));
  png_write_end(png, info);
  return true;
}

/// The picture as dense rows in the form that libpng takes.
RawPng ToRaw(const Picture& picture) {
  RawPng raw{.width = picture.width, .height = picture.height};
  raw.bits = picture.bits == 16 ? 16 : 8;
  raw.channels = picture.channels + (picture.alpha.empty() ? 0 : 1);
  const size_t sample_bytes = raw.bits == 16 ? 2 : 1;
  const auto put = [&](float sample) {
    const uint16_t value = QuantiseSample(sample, raw.bits);
    const auto* bytes = reinterpret_cast<const png_byte*>(&value);
    raw.bytes.insert(raw.bytes.end(), bytes, bytes + sample_bytes);
  };
  const auto channels = static_cast<size_t>(picture.channels);
  for (size_t i = 0; i < static_cast<size_t>(picture.pixels()); ++i) {
    for (size_t c = 0; c < channels; ++c) put(picture.samples[i * channels + c]);
    if (!picture.alpha.empty()) put(picture.alpha[i]);
  }
  const size_t row = raw.bytes.size() / static_cast<size_t>(std::max<int64_t>(1, raw.height));
  for (int64_t y = 0; y < raw.height; ++y)
    raw.rows.push_back(raw.bytes.data() + row * static_cast<size_t>(y));
  return raw;
}

}  // namespace

bool IsPng(std::span<const std::byte> bytes) {
  const auto* data = reinterpret_cast<const png_byte*>(bytes.data());
  return bytes.size() >= 8 && png_sig_cmp(data, 0, 8) == 0;
}

Result<Picture> DecodePng(std::span<const std::byte> bytes) {
  CodecError error;
  RawPng raw;
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &error, OnPngError, OnPngWarning);
  png_infop info = png == nullptr ? nullptr : png_create_info_struct(png);
  if (info == nullptr) return Error(StatusCode::kOutOfMemory, "png: out of memory");
  png_set_read_fn(png, &bytes, ReadPngBytes);
  const bool ok = DecodePngRaw(png, info, error, raw);
  png_destroy_read_struct(&png, &info, nullptr);
  if (!ok) return InvalidArgument("png: {}", error.message);
  Picture picture{.width = raw.width,
                  .height = raw.height,
                  .channels = raw.channels >= 3 ? 3 : 1,
                  .bits = raw.bits,
                  .orientation = raw.orientation};
  const bool has_alpha = raw.channels % 2 == 0;
  const auto channels = static_cast<size_t>(picture.channels);
  for (size_t i = 0, at = 0; i < static_cast<size_t>(picture.pixels()); ++i) {
    for (size_t c = 0; c < channels; ++c) picture.samples.push_back(RawSample(raw, at++));
    if (has_alpha) picture.alpha.push_back(RawSample(raw, at++));
  }
  return Upright(std::move(picture), raw.orientation);
}

Status EncodePng(const Picture& picture, std::vector<std::byte>& out) {
  const RawPng raw = ToRaw(picture);
  int color_type = picture.channels == 1 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB;
  if (!picture.alpha.empty()) color_type |= PNG_COLOR_MASK_ALPHA;
  CodecError error;
  png_structp png =
      png_create_write_struct(PNG_LIBPNG_VER_STRING, &error, OnPngError, OnPngWarning);
  png_infop info = png == nullptr ? nullptr : png_create_info_struct(png);
  if (info == nullptr) return Error(StatusCode::kOutOfMemory, "png: out of memory");
  png_set_write_fn(png, &out, WritePngBytes, FlushPng);
  const bool ok = EncodePngRaw(png, info, error, raw, color_type);
  png_destroy_write_struct(&png, &info);
  if (!ok) return InvalidArgument("png: {}", error.message);
  return OkStatus();
}

}  // namespace fettle::tools
