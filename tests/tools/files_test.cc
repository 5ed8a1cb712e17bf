// .npy files and pictures: round trips, and damage that must be refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/jpeg_codec.h"
#include "io/npy.h"
#include "io/picture.h"
#include "io/picture_codec.h"
#include "io/picture_tensor.h"
#include "io/png_codec.h"

namespace fettle::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A version 1 file with this header and data.
std::vector<std::byte> NpyFile(const std::string& header, std::string_view data) {
  std::string text = "\x93NUMPY";
  text += std::string("\x01\x00", 2);
  text += static_cast<char>(header.size());
  text += '\0';
  text += header;
  text += data;
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

class NpyTypes : public ::testing::TestWithParam<DType> {};

TEST_P(NpyTypes, RoundTrip) {
  for (const Shape& shape : {Shape{}, Shape{0, 3}, Shape{5}, Shape{2, 3, 4}}) {
    Tensor tensor = Tensor::Create(GetParam(), shape).value();
    for (int64_t i = 0; i < tensor.elements(); ++i) tensor.view().SetInt(i, i % 2);
    const auto back = ParseNpy(FormatNpy(tensor));
    ASSERT_TRUE(back.ok()) << back.status().message();
    EXPECT_EQ(back->dtype(), GetParam());
    EXPECT_EQ(back->shape(), shape);
    EXPECT_TRUE(std::equal(tensor.bytes().begin(), tensor.bytes().end(), back->bytes().begin()));
  }
}

INSTANTIATE_TEST_SUITE_P(All, NpyTypes,
                         ::testing::Values(DType::kF32, DType::kF16, DType::kF64, DType::kI8,
                                           DType::kU8, DType::kI16, DType::kU16, DType::kI32,
                                           DType::kU32, DType::kI64, DType::kU64, DType::kBool),
                         [](const auto& info) { return std::string(DTypeName(info.param)); });

TEST(Npy, WidensWhatNumPyLacks) {
  Tensor tensor = Tensor::Create(DType::kBF16, {2}).value();
  tensor.view().SetDouble(0, 1.5);
  const auto back = ParseNpy(FormatNpy(tensor));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->dtype(), DType::kF32);
  EXPECT_THAT(back->as<float>(), ElementsAre(1.5f, 0.0f));
}

TEST(Npy, ReadsBigEndianAndColumnMajor) {
  const auto swapped = ParseNpy(NpyFile("{'descr': '>i2', 'fortran_order': False, 'shape': (2,), }",
                                        {"\x01\x02\x00\x05", 4}));
  ASSERT_TRUE(swapped.ok()) << swapped.status().message();
  EXPECT_THAT(swapped->as<int16_t>(), ElementsAre(0x0102, 5));
  const auto columns =
      ParseNpy(NpyFile("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }",
                       {"\x01\x04\x02\x05\x03\x06", 6}));
  ASSERT_TRUE(columns.ok()) << columns.status().message();
  EXPECT_THAT(columns->as<uint8_t>(), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(Npy, RefusesDamage) {
  const char* headers[] = {
      "",
      "{'descr': '<f4', 'fortran_order': False, }",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999999999), }",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2",
      "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
      "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }",
      "{'descr': '",
  };
  for (const char* header : headers) {
    const auto tensor = ParseNpy(NpyFile(header, {"\0\0\0\0\0\0\0\0", 8}));
    EXPECT_EQ(tensor.status().code(), StatusCode::kInvalidArgument) << header;
  }
  const std::vector<std::byte> whole = FormatNpy(Tensor::Create(DType::kF32, {4}).value());
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(ParseNpy(std::span(whole).first(size)).ok()) << size;
}

Picture Gradient(int channels, int bits, bool alpha) {
  Picture picture{.width = 7, .height = 5, .channels = channels, .bits = bits};
  const float scale = bits == 16 ? 65535.0f : 255.0f;
  for (int64_t i = 0; i < picture.pixels() * channels; ++i)
    picture.samples.push_back(static_cast<float>(i * 2) / scale);
  for (int64_t i = 0; alpha && i < picture.pixels(); ++i)
    picture.alpha.push_back(static_cast<float>(i * 3) / scale);
  return picture;
}

TEST(Picture, PngRoundTrip) {
  for (int channels : {1, 3}) {
    for (int bits : {8, 16}) {
      for (bool alpha : {false, true}) {
        const Picture picture = Gradient(channels, bits, alpha);
        std::vector<std::byte> bytes;
        ASSERT_TRUE(EncodePng(picture, bytes).ok());
        const auto back = DecodePicture(bytes);
        ASSERT_TRUE(back.ok()) << back.status().message();
        EXPECT_EQ(back->bits, bits);
        EXPECT_EQ(back->channels, channels);
        EXPECT_EQ(back->samples, picture.samples);
        EXPECT_EQ(back->alpha, picture.alpha);
      }
    }
  }
}

TEST(Picture, JpegKeepsSmoothColours) {
  Picture picture{.width = 16, .height = 16};
  picture.samples.assign(16 * 16 * 3, 0.5f);
  std::vector<std::byte> bytes;
  ASSERT_TRUE(EncodeJpeg(picture, bytes).ok());
  const auto back = DecodePicture(bytes);
  ASSERT_TRUE(back.ok());
  for (float sample : back->samples) ASSERT_NEAR(sample, 0.5f, 0.01f);
}

TEST(Picture, RefusesDamage) {
  std::vector<std::byte> png, jpeg;
  ASSERT_TRUE(EncodePng(Gradient(3, 8, false), png).ok());
  ASSERT_TRUE(EncodeJpeg(Gradient(3, 8, false), jpeg).ok());
  for (const auto& whole : {png, jpeg}) {
    for (size_t size = 0; size + 12 < whole.size(); ++size) {
      const auto picture = DecodePicture(std::span(whole).first(size));
      EXPECT_EQ(picture.status().code(), StatusCode::kInvalidArgument) << size;
    }
  }
}

TEST(Picture, ResizeKeepsFlatColoursAndSize) {
  Picture picture{.width = 9, .height = 6};
  picture.samples.assign(9 * 6 * 3, 0.25f);
  for (const auto& [width, height] : {std::pair<int64_t, int64_t>{4, 3}, {30, 31}, {1, 1}}) {
    const Picture resized = Resize(picture, width, height);
    EXPECT_EQ(resized.samples.size(), static_cast<size_t>(width * height * 3));
    for (float sample : resized.samples) ASSERT_NEAR(sample, 0.25f, 1e-6f);
  }
}

TEST(Picture, TensorAndBack) {
  const Picture picture = Gradient(3, 8, false);
  for (Preprocess preprocess : {Preprocess::kNone, Preprocess::kUnit, Preprocess::kImageNet}) {
    for (const Shape& shape : {Shape{1, 3, -1, -1}, Shape{-1, -1, -1, 3}, Shape{3, 5, 7}}) {
      std::vector<std::string> warnings;
      const auto tensor = PictureToTensor(picture, preprocess, DType::kF32, shape, warnings);
      ASSERT_TRUE(tensor.ok()) << tensor.status().message();
      EXPECT_TRUE(warnings.empty());
      const auto back = TensorToPicture(*tensor, preprocess, picture);
      ASSERT_TRUE(back.ok());
      ASSERT_EQ(back->samples.size(), picture.samples.size());
      for (size_t i = 0; i < back->samples.size(); ++i)
        ASSERT_NEAR(back->samples[i], picture.samples[i], 1e-5f);
    }
  }
}

TEST(Picture, LumaKeepsColours) {
  Picture picture{.width = 4, .height = 4};
  for (int i = 0; i < 16; ++i)
    for (float sample : {0.8f, 0.3f, 0.1f}) picture.samples.push_back(sample);
  std::vector<std::string> warnings;
  const auto tensor =
      PictureToTensor(picture, Preprocess::kY, DType::kF32, Shape{1, 1, -1, -1}, warnings);
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(tensor->shape(), (Shape{1, 1, 4, 4}));
  const auto back = TensorToPicture(*tensor, Preprocess::kY, picture);
  ASSERT_TRUE(back.ok());
  for (size_t i = 0; i < back->samples.size(); ++i)
    ASSERT_NEAR(back->samples[i], picture.samples[i], 1e-5f);
}

TEST(Picture, ResizesToTheModelWithAWarning) {
  std::vector<std::string> warnings;
  const auto tensor = PictureToTensor(Gradient(1, 8, false), Preprocess::kUnit, DType::kF32,
                                      Shape{1, 3, 8, 8}, warnings);
  ASSERT_TRUE(tensor.ok());
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("resized")));
}

}  // namespace
}  // namespace fettle::tools
