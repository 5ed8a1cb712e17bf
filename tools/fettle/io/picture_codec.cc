#include "io/picture_codec.h"

#include <csetjmp>
#include <cstdio>
// jpeglib.h needs FILE and size_t to be declared before it.
#include <jpeglib.h>
#include <png.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <string_view>

#include "io/exif.h"

namespace fettle::tools {
namespace {

/// Where a codec's error handler leaves its message before it jumps out.
struct CodecError {
  std::string message;
  std::jmp_buf jump;
};

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

struct JpegError {
  jpeg_error_mgr manager;
  CodecError codec;
};

void OnJpegError(j_common_ptr info) {
  auto* error = reinterpret_cast<JpegError*>(info->err);
  char message[JMSG_LENGTH_MAX];
  info->err->format_message(info, message);
  error->codec.message = message;
  std::longjmp(error->codec.jump, 1);
}
/// A damaged or cut file is an error here, not the warning that libjpeg makes of it.
void OnJpegMessage(j_common_ptr info, int level) {
  if (level < 0) OnJpegError(info);
}

/// What the first APP1 segment that is Exif says.
int JpegOrientation(const jpeg_decompress_struct& jpeg) {
  constexpr std::string_view kExif("Exif\0\0", 6);
  for (const jpeg_marker_struct* at = jpeg.marker_list; at != nullptr; at = at->next) {
    const std::string_view data(reinterpret_cast<const char*>(at->data), at->data_length);
    if (at->marker == JPEG_APP0 + 1 && data.starts_with(kExif))
      return ExifOrientation(std::as_bytes(std::span(data.substr(kExif.size()))));
  }
  return 1;
}

bool IsCmyk(const jpeg_decompress_struct& jpeg) {
  return jpeg.jpeg_color_space == JCS_CMYK || jpeg.jpeg_color_space == JCS_YCCK;
}

/// Ink to light, without a colour profile. Files that Adobe's marker is in hold light already.
std::vector<JSAMPLE> CmykToRgb(const std::vector<JSAMPLE>& cmyk, bool inverted) {
  std::vector<JSAMPLE> rgb;
  rgb.reserve(cmyk.size() / 4 * 3);
  for (size_t i = 0; i + 3 < cmyk.size(); i += 4) {
    const int black = inverted ? cmyk[i + 3] : 255 - cmyk[i + 3];
    for (size_t c = 0; c < 3; ++c) {
      const int light = inverted ? cmyk[i + c] : 255 - cmyk[i + c];
      rgb.push_back(static_cast<JSAMPLE>((light * black + 127) / 255));
    }
  }
  return rgb;
}

bool DecodeJpegRaw(jpeg_decompress_struct& jpeg, JpegError& error, std::span<const std::byte> bytes,
                   std::vector<JSAMPLE>& samples, int& orientation) {
  if (setjmp(error.codec.jump) != 0) return false;
  jpeg_create_decompress(&jpeg);
  jpeg_mem_src(&jpeg, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_save_markers(&jpeg, JPEG_APP0 + 1, 0xFFFF);
  jpeg_read_header(&jpeg, TRUE);
  orientation = JpegOrientation(jpeg);  // the end of decoding forgets the markers
  if (int64_t{jpeg.image_width} * jpeg.image_height > kMaxPixels) {
    error.codec.message = "the picture is too large";
    std::longjmp(error.codec.jump, 1);
  }
  jpeg.out_color_space = jpeg.num_components == 1 ? JCS_GRAYSCALE
                         : IsCmyk(jpeg)           ? JCS_CMYK
                                                  : JCS_RGB;
  jpeg.dct_method = JDCT_ISLOW;
  jpeg_start_decompress(&jpeg);
  const size_t row = size_t{jpeg.output_width} * static_cast<size_t>(jpeg.output_components);
  samples.resize(row * jpeg.output_height);
  while (jpeg.output_scanline < jpeg.output_height) {
    JSAMPROW out = samples.data() + row * jpeg.output_scanline;
    jpeg_read_scanlines(&jpeg, &out, 1);
  }
  jpeg_finish_decompress(&jpeg);
  return true;
}

Result<Picture> DecodeJpeg(std::span<const std::byte> bytes) {
  JpegError error;
  jpeg_decompress_struct jpeg = {};
  jpeg.err = jpeg_std_error(&error.manager);
  error.manager.error_exit = OnJpegError;
  error.manager.emit_message = OnJpegMessage;
  std::vector<JSAMPLE> samples;
  int orientation = 1;
  const bool ok = DecodeJpegRaw(jpeg, error, bytes, samples, orientation);
  Picture picture{.width = static_cast<int64_t>(jpeg.output_width),
                  .height = static_cast<int64_t>(jpeg.output_height),
                  .channels = jpeg.output_components,
                  .orientation = orientation};
  if (ok && IsCmyk(jpeg)) {
    samples = CmykToRgb(samples, jpeg.saw_Adobe_marker != FALSE);
    picture.channels = 3;
  }
  jpeg_destroy_decompress(&jpeg);
  if (!ok) return InvalidArgument("jpeg: {}", error.codec.message);
  for (JSAMPLE sample : samples) picture.samples.push_back(static_cast<float>(sample) / 255.0f);
  return Upright(std::move(picture), orientation);
}

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

uint16_t Quantise(float sample, int bits) {
  const float scale = bits == 16 ? 65535.0f : 255.0f;
  // The negated comparison also sends NaN to 0.
  if (!(sample > 0)) return 0;
  return static_cast<uint16_t>(std::lround(std::min(sample, 1.0f) * scale));
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
    const uint16_t value = Quantise(sample, raw.bits);
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

bool EncodeJpegRaw(jpeg_compress_struct& jpeg, JpegError& error, const Picture& picture,
                   std::vector<JSAMPLE>& samples, unsigned char** buffer, unsigned long* size) {
  if (setjmp(error.codec.jump) != 0) return false;
  jpeg_create_compress(&jpeg);
  jpeg_mem_dest(&jpeg, buffer, size);
  jpeg.image_width = static_cast<JDIMENSION>(picture.width);
  jpeg.image_height = static_cast<JDIMENSION>(picture.height);
  jpeg.input_components = picture.channels;
  jpeg.in_color_space = picture.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, 95, TRUE);
  jpeg.comp_info[0].h_samp_factor = jpeg.comp_info[0].v_samp_factor = 1;
  jpeg_start_compress(&jpeg, TRUE);
  const size_t row = static_cast<size_t>(picture.width * picture.channels);
  while (jpeg.next_scanline < jpeg.image_height) {
    JSAMPROW line = samples.data() + row * jpeg.next_scanline;
    jpeg_write_scanlines(&jpeg, &line, 1);
  }
  jpeg_finish_compress(&jpeg);
  return true;
}

}  // namespace

Result<Picture> DecodePicture(std::span<const std::byte> bytes) {
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  if (bytes.size() >= 8 && png_sig_cmp(data, 0, 8) == 0) return DecodePng(bytes);
  if (bytes.size() >= 3 && data[0] == 0xFF && data[1] == 0xD8 && data[2] == 0xFF)
    return DecodeJpeg(bytes);
  if (const std::string_view format = ForeignFormat(bytes); !format.empty())
    return InvalidArgument("a {} picture; PNG and JPEG are read, convert it first", format);
  return InvalidArgument("not a PNG or JPEG picture");
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

Status EncodeJpeg(const Picture& picture, std::vector<std::byte>& out) {
  std::vector<JSAMPLE> samples;
  samples.reserve(picture.samples.size());
  for (float sample : picture.samples) samples.push_back(static_cast<JSAMPLE>(Quantise(sample, 8)));
  JpegError error;
  jpeg_compress_struct jpeg = {};
  jpeg.err = jpeg_std_error(&error.manager);
  error.manager.error_exit = OnJpegError;
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  const bool ok = EncodeJpegRaw(jpeg, error, picture, samples, &buffer, &size);
  jpeg_destroy_compress(&jpeg);
  if (ok) {
    const auto* bytes = reinterpret_cast<const std::byte*>(buffer);
    out.assign(bytes, bytes + size);
  }
  std::free(buffer);
  if (!ok) return InvalidArgument("jpeg: {}", error.codec.message);
  return OkStatus();
}

}  // namespace fettle::tools
