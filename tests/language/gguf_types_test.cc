// Blocks of GGUF's tensor types as floats, against what the package gguf 0.19.0 makes of the
// same bytes (gguf.quants.dequantize).
#include "importers/gguf/gguf_types.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string_view>
#include <vector>

#include "importers/gguf/gguf_file.h"
#include "tensor/block_source.h"

namespace fettle::gguf {
namespace {

struct Known {
  uint32_t id;
  std::string_view name;
  std::vector<int64_t> halves;  // where 0.5 and -0.25 are put
  double first, last;
  double sum;  // of element i, from 1 on, times i
};

/// Byte i is 37 * i + 11, but for the halves.
std::vector<uint8_t> BlockOf(int64_t bytes, const std::vector<int64_t>& halves) {
  std::vector<uint8_t> block;
  for (int64_t i = 0; i < bytes; ++i) block.push_back(static_cast<uint8_t>(37 * i + 11));
  constexpr uint8_t kHighBytes[] = {0x38, 0xb4};  // of 0.5 and -0.25; the low ones are 0
  for (size_t i = 0; i < halves.size(); ++i) {
    block[halves[i]] = 0;
    block[halves[i] + 1] = kHighBytes[i];
  }
  return block;
}

TEST(GgufTypes, BlocksAreWhatTheFormatSays) {
  const Known kKnown[] = {
      {1, "F16", {0}, 0.5, 0.5, 0.5},
      {30, "BF16", {}, 5.056790541857481e-10, 5.056790541857481e-10, 5.056790541857481e-10},
      {2, "Q4_0", {0}, -1.5, 0.0, -259.0},
      {3, "Q4_1", {0, 2}, 7.25, 5.75, 1859.5},
      {6, "Q5_0", {0}, 4.5, 0.5, 56.0},
      {7, "Q5_1", {0, 2}, 9.25, 2.25, 3818.5},
      {8, "Q8_0", {0}, 42.5, -24.0, -4040.0},
      {10, "Q2_K", {80, 82}, 16.5, 3.75, 237249.0},
      {11, "Q3_K", {108}, 40.5, 21.0, 88572.5},
      {12, "Q4_K", {0, 2}, 183.25, 41.75, 4262132.0},
      {13, "Q5_K", {0, 2}, 431.25, 71.75, 8489436.0},
      {14, "Q6_K", {208}, -715.5, -30.0, 392210.0},
      {34, "TQ1_0", {52}, -0.5, -0.5, -65.5},
      {35, "TQ2_0", {64}, 1.0, -0.5, 8622.5},
      {39, "MXFP4", {}, 0.0, 3.611118645726067e-35, 3.8398228266220515e-33},
  };
  for (const Known& known : kKnown) {
    const TensorType* type = FindType(known.id);
    ASSERT_NE(type, nullptr) << known.name;
    EXPECT_EQ(type->name, known.name);
    const std::vector<uint8_t> block = BlockOf(type->bytes, known.halves);
    // Twice, so that the second block's place is tried, too.
    std::vector<uint8_t> two = block;
    two.insert(two.end(), block.begin(), block.end());
    std::vector<float> values(2 * type->elements);
    Dequantise(*type, two.data(), 2, values.data());
    double sum = 0;
    for (int64_t i = 0; i < type->elements; ++i) {
      EXPECT_EQ(values[i], values[type->elements + i]) << known.name << " " << i;
      sum += static_cast<double>(i + 1) * values[i];
    }
    EXPECT_EQ(values.front(), static_cast<float>(known.first)) << known.name;
    EXPECT_EQ(values.back(), static_cast<float>(known.last)) << known.name;
    EXPECT_DOUBLE_EQ(sum, known.sum) << known.name;
  }
  EXPECT_EQ(FindType(9), nullptr);  // Q8_1, which files do not hold
}

/// Whether the numbers and steps of `part`, of 3 rows of 2 blocks, make its elements.
void ExpectSteps(const Constant& part, int64_t each) {
  const BlockSource* source = StepsOf(part);
  ASSERT_NE(source, nullptr);
  ASSERT_EQ(source->numbers_of_step(), each);
  std::vector<float> values(part.elements());
  part.CopyTo(0, part.elements(), reinterpret_cast<std::byte*>(values.data()));
  std::vector<Half> steps(6);
  std::vector<int8_t> numbers(values.size());
  source->CopySteps(0, 1, steps.data(), numbers.data());
  source->CopySteps(1, 5, steps.data() + 1, numbers.data() + each);
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(values[i], static_cast<float>(steps[i / each]) * static_cast<float>(numbers[i])) << i;
}

TEST(GgufTypes, ScalesAreNumbersTimesSteps) {
  const std::map<uint32_t, std::vector<int64_t>> kSteps = {
      {10, {80, 82}}, {11, {108}}, {12, {0, 2}}, {13, {0, 2}}, {14, {208}}};
  for (const auto& [id, halves] : kSteps) {
    const TensorType* type = FindType(id);
    SCOPED_TRACE(type->name);
    std::vector<uint8_t> bytes;
    for (int i = 0; i < 6; ++i) {
      std::vector<uint8_t> block = BlockOf(type->bytes, halves);
      for (const int64_t at : halves) block[at] = static_cast<uint8_t>(i * 11);  // other steps
      bytes.insert(bytes.end(), block.begin(), block.end());
    }
    const TensorInfo tensor{.type = type, .rows = 3, .columns = 2 * type->elements, .bytes = bytes};
    const BlockConstants constants = ReadBlocks(tensor, nullptr);
    ExpectSteps(constants.scales, type->elements / type->part);
    if (type->times_scale == 0) ExpectSteps(constants.minima, type->elements / type->part);
    EXPECT_EQ(StepsOf(constants.codes), nullptr);
  }
}

/// Types whose scales are halves by themselves.
TEST(GgufTypes, OtherScalesHaveNoSteps) {
  const TensorType* type = FindType(2);
  const std::vector<uint8_t> bytes = BlockOf(type->bytes, {0});
  const TensorInfo tensor{.type = type, .rows = 1, .columns = type->elements, .bytes = bytes};
  EXPECT_EQ(StepsOf(ReadBlocks(tensor, nullptr).scales), nullptr);
}

TEST(GgufTypes, NibblesAreTheCodes) {
  for (const uint32_t id : {2, 3, 6, 8, 12}) {
    const TensorType* type = FindType(id);
    SCOPED_TRACE(type->name);
    const std::vector<uint8_t> bytes = BlockOf(4 * type->bytes, {});
    const TensorInfo tensor{.type = type, .rows = 2, .columns = 2 * type->elements, .bytes = bytes};
    const Constant codes = ReadBlocks(tensor, nullptr).codes;
    std::byte nibbles[32], read[64];
    const bool has = BlocksOf(codes)->CopyNibbles(32, 64, nibbles);
    EXPECT_EQ(has, id == 2 || id == 3);
    codes.CopyTo(32, 64, read);
    for (int i = 0; has && i < 32; ++i) {
      const int at = i / 16 * 32 + i % 16;
      EXPECT_EQ(nibbles[i], read[at] | read[at + 16] << 4) << i;
    }
  }
}

/// Powers of two are halves where they are neither too large nor too small.
TEST(GgufTypes, ScalesThatArePowersOfTwoAreHalvesWhereThoseHoldThem) {
  const TensorType* type = FindType(39);
  for (const auto& [power, dtype] : std::map<uint8_t, DType>{{105, DType::kF16},
                                                             {139, DType::kF16},
                                                             {140, DType::kF32},
                                                             {103, DType::kF32},
                                                             {200, DType::kF32}}) {
    std::vector<uint8_t> bytes = BlockOf(2 * type->bytes, {});
    bytes[0] = power;
    bytes[type->bytes] = 120;
    const TensorInfo tensor{.type = type, .rows = 1, .columns = 2 * type->elements, .bytes = bytes};
    const BlockConstants constants = ReadBlocks(tensor, nullptr);
    EXPECT_EQ(constants.scales.dtype(), dtype) << int{power};
    const float scale = std::ldexp(1.0F, power - 128);
    EXPECT_EQ(constants.scales.GetDouble(0), double{scale});
    EXPECT_EQ(constants.minima.GetDouble(0), -16 * double{scale});
    EXPECT_EQ(constants.scales.GetDouble(1), 1.0 / 256);
  }
}

}  // namespace
}  // namespace fettle::gguf
