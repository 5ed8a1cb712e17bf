// Pictures as cameras and tools write them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
// jpeglib.h needs FILE and size_t to be declared before it.
#include <jpeglib.h>
#include <png.h>

#include <cstring>

#include "io/exif.h"
#include "io/picture_codec.h"
#include "io/tensor_io.h"

namespace fettle::tools {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;

using Bytes = std::vector<std::byte>;

/// A TIFF block with an orientation.
std::vector<unsigned char> Tiff(int orientation, bool big_endian) {
  const auto value = static_cast<unsigned char>(orientation);
  if (big_endian)
    return {'M', 'M', 0, 42, 0, 0, 0,     8, 0, 1, 1, 0x12, 0,
            3,   0,   0, 0,  1, 0, value, 0, 0, 0, 0, 0,    0};
  return {'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, value, 0, 0, 0, 0, 0, 0, 0};
}

struct JpegKind {
  J_COLOR_SPACE space = JCS_RGB;
  int components = 3;
  int orientation = 0;
  bool progressive = false;
};

Bytes Jpeg(int width, int height, const std::vector<unsigned char>& samples, const JpegKind& kind) {
  jpeg_compress_struct jpeg = {};
  jpeg_error_mgr errors;
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &buffer, &size);
  jpeg.image_width = static_cast<JDIMENSION>(width);
  jpeg.image_height = static_cast<JDIMENSION>(height);
  jpeg.input_components = kind.components;
  jpeg.in_color_space = kind.space;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, 100, TRUE);
  jpeg.comp_info[0].h_samp_factor = jpeg.comp_info[0].v_samp_factor = 1;
  if (kind.progressive) jpeg_simple_progression(&jpeg);
  jpeg_start_compress(&jpeg, TRUE);
  if (kind.orientation > 0) {
    std::vector<unsigned char> exif = {'E', 'x', 'i', 'f', 0, 0};
    const std::vector<unsigned char> tiff = Tiff(kind.orientation, false);
    exif.insert(exif.end(), tiff.begin(), tiff.end());
    jpeg_write_marker(&jpeg, JPEG_APP0 + 1, exif.data(), static_cast<unsigned>(exif.size()));
  }
  for (int y = 0; y < height; ++y) {
    auto* row = const_cast<unsigned char*>(samples.data()) + y * width * kind.components;
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  const auto* bytes = reinterpret_cast<const std::byte*>(buffer);
  Bytes out(bytes, bytes + size);
  std::free(buffer);
  return out;
}

/// 16x8 with a white left half.
std::vector<unsigned char> LeftIsWhite(int components) {
  std::vector<unsigned char> samples;
  for (int i = 0; i < 16 * 8; ++i)
    samples.insert(samples.end(), static_cast<size_t>(components), i % 16 < 8 ? 255 : 0);
  return samples;
}

float At(const Picture& picture, int64_t x, int64_t y) {
  return picture.samples[static_cast<size_t>((y * picture.width + x) * picture.channels)];
}

TEST(Exif, EveryOrientationPutsTheFirstPixelWhereItWasSeen) {
  // 0 1 2
  // 3 4 5
  const Picture stored{.width = 3, .height = 2, .channels = 1, .samples = {0, 1, 2, 3, 4, 5}};
  const std::vector<std::vector<float>> seen = {
      {0, 1, 2, 3, 4, 5}, {2, 1, 0, 5, 4, 3}, {5, 4, 3, 2, 1, 0}, {3, 4, 5, 0, 1, 2},
      {0, 3, 1, 4, 2, 5}, {3, 0, 4, 1, 5, 2}, {5, 2, 4, 1, 3, 0}, {2, 5, 1, 4, 0, 3}};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const Picture upright = Upright(stored, orientation);
    EXPECT_EQ(upright.samples, seen[static_cast<size_t>(orientation - 1)]) << orientation;
    EXPECT_EQ(upright.width, orientation < 5 ? 3 : 2);
  }
}

TEST(Exif, ReadsBothByteOrdersAndNoDamage) {
  for (const bool big_endian : {false, true}) {
    const auto tiff = Tiff(6, big_endian);
    EXPECT_EQ(ExifOrientation(std::as_bytes(std::span(tiff))), 6);
    // Each cut, and each byte changed, gives an orientation.
    for (size_t size = 0; size < tiff.size(); ++size) {
      const int cut = ExifOrientation(std::as_bytes(std::span(tiff).first(size)));
      EXPECT_TRUE(cut == 1 || cut == 6);
      auto damaged = tiff;
      damaged[size] ^= 0xFF;
      const int read = ExifOrientation(std::as_bytes(std::span(damaged)));
      EXPECT_TRUE(read >= 1 && read <= 8);
    }
  }
}

TEST(Pictures, JpegIsTurnedAsExifSays) {
  const auto picture = DecodePicture(Jpeg(16, 8, LeftIsWhite(3), {.orientation = 6}));
  ASSERT_TRUE(picture.ok()) << picture.status().message();
  EXPECT_EQ(picture->orientation, 6);
  EXPECT_EQ(picture->width, 8);
  EXPECT_EQ(picture->height, 16);
  // Turned clockwise, what was left is above.
  EXPECT_THAT(At(*picture, 4, 2), FloatNear(1, 0.02F));
  EXPECT_THAT(At(*picture, 4, 13), FloatNear(0, 0.02F));
}

TEST(Pictures, ProgressiveAndGreyJpeg) {
  const auto progressive = DecodePicture(Jpeg(16, 8, LeftIsWhite(3), {.progressive = true}));
  ASSERT_TRUE(progressive.ok());
  EXPECT_THAT(At(*progressive, 2, 4), FloatNear(1, 0.02F));
  const auto grey =
      DecodePicture(Jpeg(16, 8, LeftIsWhite(1), {.space = JCS_GRAYSCALE, .components = 1}));
  ASSERT_TRUE(grey.ok());
  EXPECT_EQ(grey->channels, 1);
}

TEST(Pictures, CmykBecomesRgb) {
  // libjpeg writes Adobe's marker, behind which ink is inverted: 255 is none.
  std::vector<unsigned char> samples;
  for (int i = 0; i < 16 * 8; ++i) {
    const unsigned char cyan = i % 16 < 8 ? 255 : 0;
    samples.insert(samples.end(), {cyan, 255, 255, 255});
  }
  const auto picture = DecodePicture(Jpeg(16, 8, samples, {.space = JCS_CMYK, .components = 4}));
  ASSERT_TRUE(picture.ok()) << picture.status().message();
  EXPECT_EQ(picture->channels, 3);
  const auto pixel = [&](int64_t x) {
    const float* at = picture->samples.data() + (4 * picture->width + x) * 3;
    return std::vector<float>(at, at + 3);
  };
  EXPECT_THAT(pixel(2), ElementsAre(FloatNear(1, 0.03F), FloatNear(1, 0.03F), FloatNear(1, 0.03F)));
  EXPECT_THAT(pixel(13),
              ElementsAre(FloatNear(0, 0.03F), FloatNear(1, 0.03F), FloatNear(1, 0.03F)));
}

TEST(Pictures, PngOfSixteenBitsWithAlphaSurvives) {
  Picture picture{.width = 2, .height = 1, .channels = 1, .bits = 16};
  picture.samples = {0.25f, 1};
  picture.alpha = {1, 0.5f};
  Bytes bytes;
  ASSERT_TRUE(EncodePng(picture, bytes).ok());
  const auto read = DecodePicture(bytes);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->bits, 16);
  EXPECT_THAT(read->samples, ElementsAre(FloatNear(0.25, 1e-4f), FloatNear(1, 1e-4f)));
  EXPECT_THAT(read->alpha, ElementsAre(FloatNear(1, 1e-4f), FloatNear(0.5, 1e-4f)));
}

void Append(png_structp png, png_bytep bytes, size_t size) {
  auto* out = static_cast<Bytes*>(png_get_io_ptr(png));
  const auto* from = reinterpret_cast<const std::byte*>(bytes);
  out->insert(out->end(), from, from + size);
}
void Flush(png_structp) {}

TEST(Pictures, PalettesBecomeColoursAndPngIsTurnedToo) {
  Bytes bytes;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(png, &bytes, Append, Flush);
  png_set_IHDR(png, info, 2, 1, 8, PNG_COLOR_TYPE_PALETTE, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_color palette[] = {{255, 0, 0}, {0, 0, 255}};
  png_set_PLTE(png, info, palette, 2);
  png_byte transparency[] = {255, 0};
  png_set_tRNS(png, info, transparency, 2, nullptr);
  auto tiff = Tiff(3, true);
  png_set_eXIf_1(png, info, static_cast<png_uint_32>(tiff.size()), tiff.data());
  png_write_info(png, info);
  png_byte row[] = {0, 1};
  png_write_row(png, row);
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  const auto picture = DecodePicture(bytes);
  ASSERT_TRUE(picture.ok()) << picture.status().message();
  EXPECT_EQ(picture->orientation, 3);
  EXPECT_THAT(picture->samples, ElementsAre(0, 0, 1, 1, 0, 0));
  EXPECT_THAT(picture->alpha, ElementsAre(0, 1));
}

TEST(Pictures, OtherFormatsAreNamed) {
  const auto says = [](std::string text, std::string_view format) {
    text.resize(40, '\0');
    const auto picture = DecodePicture(std::as_bytes(std::span(text)));
    EXPECT_EQ(picture.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(picture.status().message()), HasSubstr(format));
  };
  says("GIF89a", "a GIF picture");
  says("BM", "a BMP picture");
  says(std::string("RIFF\1\1\1\1WEBPVP8 "), "a WebP picture");
  says(std::string("II*\0", 4), "a TIFF picture");
  says(std::string("\0\0\0\x18"
                   "ftypheic",
                   12),
       "HEIF");
  for (const char* name : {"a.gif", "b.BMP", "c.webp", "d.tiff"})
    EXPECT_EQ(FileKindOf(name), FileKind::kPicture) << name;
}

}  // namespace
}  // namespace fettle::tools
