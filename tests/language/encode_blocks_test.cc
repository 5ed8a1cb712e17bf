// Encoders of GGUF's blocks against the readers of the same types.
#include "importers/gguf/encode_blocks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <random>

#include "importers/gguf/rewrite.h"
#include "language/matrix_types.h"
#include "tests/language/small_decoder.h"

namespace fettle::gguf {
namespace {

std::vector<float> Normal(size_t count, float middle = 0) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal(middle, 0.05F);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

std::vector<float> RoundTrip(const TensorType& type, const std::vector<float>& values) {
  const auto blocks = std::ssize(values) / type.elements;
  std::vector<uint8_t> bytes(blocks * type.bytes);
  std::vector<float> back(values.size());
  Encode(type, values.data(), blocks, bytes.data());
  Dequantise(type, bytes.data(), blocks, back.data());
  return back;
}

double SqnrDb(const std::vector<float>& values, const std::vector<float>& back) {
  double error = 0, power = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double off = static_cast<double>(values[i]) - static_cast<double>(back[i]);
    error += off * off;
    power += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  }
  return 10 * std::log10(power / error);
}

/// What a type must keep of numbers of a normal distribution: within half a decibel of what it
/// does.
TEST(Encode, KeepsWhatItsBitsAllow) {
  const std::map<std::string_view, double> kLeast = {
      {"TQ2_0", 7.0}, {"Q2_K", 11.0}, {"Q3_K", 16.3}, {"Q4_0", 21.0}, {"Q4_K", 21.0},
      {"Q4_1", 21.0}, {"Q5_0", 27.0}, {"Q5_K", 27.0}, {"Q5_1", 27.0}, {"Q6_K", 33.0},
      {"Q8_0", 45.0}, {"F16", 70.0},  {"BF16", 50.0}};
  const std::vector<float> values = Normal(256 * 64);
  for (const TensorType* type : EncodedTypes()) {
    const auto least = kLeast.find(type->name);
    if (least == kLeast.end()) continue;
    EXPECT_GT(SqnrDb(values, RoundTrip(*type, values)), least->second) << type->name;
  }
}

TEST(Encode, BlocksAreFixedPoints) {
  // What a type holds already is found again.
  std::mt19937 random(5);
  std::vector<float> values(256), back;
  for (const TensorType* type : EncodedTypes()) {
    if (type->bits == 0) continue;
    values = RoundTrip(*type, Normal(256));
    back = RoundTrip(*type, values);
    EXPECT_GT(SqnrDb(values, back), 30) << type->name;
  }
}

TEST(Encode, ShiftedNumbersNeedAMinimum) {
  const std::vector<float> values = Normal(256 * 8, 0.4F);
  const auto sqnr = [&](std::string_view name) {
    return SqnrDb(values, RoundTrip(*FindEncodedType(name), values));
  };
  EXPECT_GT(sqnr("q4_1"), sqnr("q4_0") + 3);
  EXPECT_GT(sqnr("q5_1"), sqnr("q5_0") + 3);
}

TEST(Encode, NumbersThatAreHardToScale) {
  const std::vector<std::vector<float>> kHard = {
      std::vector<float>(256, 0.0F), std::vector<float>(256, -3.0F),
      std::vector<float>(256, 1e-30F), std::vector<float>(256, 65504.0F),
      std::vector<float>(256, -1e-7F)};
  for (const TensorType* type : EncodedTypes()) {
    for (const std::vector<float>& values : kHard) {
      const std::vector<float> back = RoundTrip(*type, values);
      for (size_t i = 0; i < back.size(); ++i)
        ASSERT_NEAR(back[i], values[i], 1e-6 + 0.005 * std::fabs(values[i])) << type->name;
    }
  }
}

TEST(Encode, TernaryNumbersStayWhatTheyAre) {
  std::vector<float> values(256);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = 0.125F * static_cast<float>(static_cast<int>(i * 7 % 3) - 1);
  EXPECT_EQ(RoundTrip(*FindEncodedType("TQ2_0"), values), values);
}

std::shared_ptr<const File> SmallFile(std::string* bytes) {
  *bytes = WriteSmallDecoder({"llama", 0});
  return *File::Read(std::as_bytes(std::span(*bytes)), nullptr, "small");
}

TEST(Rewrite, KeepsMetadataAndOrder) {
  std::string bytes;
  const auto file = SmallFile(&bytes);
  const auto types = language::UniformTypes(*file, *FindEncodedType("q4_k"));
  const std::string path = ::testing::TempDir() + "/rewritten.gguf";
  const auto make = [&](size_t i) -> Result<std::vector<uint8_t>> {
    ASSIGN_OR_RETURN(Encoded encoded, EncodeTensor(file->tensors()[i], *types[i], 2));
    return std::move(encoded.bytes);
  };
  ASSERT_TRUE(Rewrite(*file, types, 14, make, path).ok());
  const auto written = File::Open(path);
  ASSERT_TRUE(written.ok()) << written.status().message();
  EXPECT_TRUE(std::ranges::equal((*written)->front(), file->front()));
  ASSERT_EQ((*written)->tensors().size(), file->tensors().size());
  for (size_t i = 0; i < types.size(); ++i) {
    const TensorInfo &before = file->tensors()[i], &after = (*written)->tensors()[i];
    EXPECT_EQ(after.name, before.name);
    EXPECT_EQ(after.extents, before.extents);
    // Rows of 64 and 96 are no blocks of 256.
    EXPECT_EQ(after.type->name, language::IsMatrix(before) ? "Q5_0" : "F32");
  }
  std::filesystem::remove(path);
}

TEST(Rewrite, LeavesNothingWhereItFails) {
  std::string bytes;
  const auto file = SmallFile(&bytes);
  const auto types = language::UniformTypes(*file, *FindEncodedType("q4_0"));
  const std::string path = ::testing::TempDir() + "/failed.gguf";
  const auto make = [](size_t) -> Result<std::vector<uint8_t>> { return InvalidModel("no"); };
  EXPECT_FALSE(Rewrite(*file, types, 2, make, path).ok());
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Rewrite, RefusesWhatBlocksDoNotHold) {
  std::string bytes;
  const auto file = SmallFile(&bytes);
  std::vector<float> values(64 * 64, 1.0F);
  TensorInfo tensor = *file->FindTensor("blk.0.attn_q.weight");
  for (float bad : {NAN, HUGE_VALF, 1e6F}) {
    values[65] = bad;
    tensor.bytes = {reinterpret_cast<const uint8_t*>(values.data()), values.size() * 4};
    const auto encoded = EncodeTensor(tensor, *FindEncodedType("q8_0"), 2);
    ASSERT_FALSE(encoded.ok());
    EXPECT_NE(encoded.status().message().find("element 1 of row 1"), std::string::npos);
  }
}

}  // namespace
}  // namespace fettle::gguf
