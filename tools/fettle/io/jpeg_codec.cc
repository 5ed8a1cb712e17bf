#include "io/jpeg_codec.h"

#include <csetjmp>
#include <cstdio>
// jpeglib.h needs FILE and size_t to be declared before it.
#include <jpeglib.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "io/codec_parts.h"
#include "io/exif.h"

namespace fettle::tools {
namespace {

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

bool IsJpeg(std::span<const std::byte> bytes) {
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  return bytes.size() >= 3 && data[0] == 0xFF && data[1] == 0xD8 && data[2] == 0xFF;
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

Status EncodeJpeg(const Picture& picture, std::vector<std::byte>& out) {
  std::vector<JSAMPLE> samples;
  samples.reserve(picture.samples.size());
  for (float sample : picture.samples)
    samples.push_back(static_cast<JSAMPLE>(QuantiseSample(sample, 8)));
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
