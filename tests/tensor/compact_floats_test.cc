#include "tensor/compact_floats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

namespace fettle {
namespace {

Constant Floats(const Shape& shape, const std::vector<float>& values) {
  return Constant::FromTensor(Tensor::FromVector(shape, values).value());
}

/// Packed and unpacked again, whole and in pieces of 7.
Constant Back(const Constant& constant, const CompactLayout& layout) {
  const Tensor packed = PackCompact(constant, layout).value();
  EXPECT_EQ(packed.elements(), layout.Bytes(constant.elements()));
  const Constant back = FromCompact(constant.shape(), layout, Constant::FromTensor(packed));
  const Tensor whole = back.ToTensor().value();
  for (int64_t begin = 0; begin < back.elements(); begin += 7) {
    const int64_t count = std::min<int64_t>(7, back.elements() - begin);
    std::vector<std::byte> piece(count * 4);
    back.CopyTo(begin, count, piece.data());
    EXPECT_TRUE(std::equal(piece.begin(), piece.end(), whole.bytes().begin() + begin * 4)) << begin;
  }
  return back;
}

void ExpectExact(const Constant& constant, const CompactLayout& expected) {
  const auto found = FindCompact(constant);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(*found, expected);
  const Constant back = Back(constant, *found);
  const Tensor before = constant.ToTensor().value(), after = back.ToTensor().value();
  EXPECT_TRUE(std::ranges::equal(before.bytes(), after.bytes()));
  // What is compact keeps its form, to the byte.
  ASSERT_EQ(FindCompact(back), found);
  EXPECT_EQ(
      FromCompact(back.shape(), *found, Constant::FromTensor(PackCompact(back, *found).value()))
          .Hash(),
      back.Hash());
}

/// Two values for each index on `axis`, of any bits.
Constant TwoValued(const Shape& shape, int axis, bool is_one_pair) {
  std::mt19937 random(3);
  std::vector<float> values(shape.elements());
  const CompactLayout layout = CompactLayout::Along(CompactForm::kBits, shape, axis);
  for (size_t i = 0; i < values.size(); ++i) {
    const auto slice = static_cast<int64_t>(i) / layout.inner % layout.slices;
    const float scale = is_one_pair ? 0.3F : 0.3F + 0.01F * static_cast<float>(slice);
    values[i] = random() % 2 == 0 ? -scale : (slice == 1 && !is_one_pair ? 0.0F : scale);
  }
  return Floats(shape, values);
}

TEST(CompactFloats, TwoValuesForAllOrAlongAnAxisAreBits) {
  const Shape shape{6, 9, 3, 5};
  ExpectExact(TwoValued(shape, 0, true), {CompactForm::kBits, 1, 1});
  ExpectExact(TwoValued(shape, 0, false), {CompactForm::kBits, 6, 135});
  ExpectExact(TwoValued(shape, 1, false), {CompactForm::kBits, 9, 15});
  ExpectExact(TwoValued(Shape{64, 33}, 1, false), {CompactForm::kBits, 33, 1});
}

TEST(CompactFloats, ValuesKeepTheirBits) {
  // Zeros of both signs are two values, a NaN keeps its payload.
  float nan = 0;
  const uint32_t bits = 0x7fc12345;
  std::memcpy(&nan, &bits, sizeof nan);
  std::vector<float> values(100, -0.0F);
  for (size_t i = 0; i < values.size(); i += 3) values[i] = 0.0F;
  ExpectExact(Floats(Shape{100}, values), {CompactForm::kBits, 1, 1});
  for (size_t i = 0; i < values.size(); i += 3) values[i] = nan;
  ExpectExact(Floats(Shape{4, 25}, values), {CompactForm::kBits, 1, 1});
}

TEST(CompactFloats, HalvesWhereAllAreHalves) {
  std::vector<float> values = {1.5F, -0.0F, 65504.0F, 5.9604645e-8F, -INFINITY, 0.333251953125F};
  ExpectExact(Floats(Shape{2, 3}, values), {CompactForm::kHalves, 1, 1});
  values[3] = 0.1F;
  EXPECT_FALSE(FindCompact(Floats(Shape{2, 3}, values)).has_value());
  values[3] = 1e-9F;
  EXPECT_FALSE(FindCompact(Floats(Shape{2, 3}, values)).has_value());
}

TEST(CompactFloats, BytesAreTheNearestSteps) {
  const Shape shape{3, 40};
  std::vector<float> values(shape.elements());
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = i >= 80 ? 0.0F : std::sin(static_cast<float>(i)) * (i < 40 ? 1.0F : 100.0F);
  const CompactLayout layout = CompactLayout::Along(CompactForm::kBytes, shape, 0);
  const Constant back = Back(Floats(shape, values), layout);
  for (int64_t i = 0; i < shape.elements(); ++i) {
    const double largest = i < 40 ? 1 : 100;
    EXPECT_NEAR(back.GetDouble(i), values[i], largest / 127 * 0.501) << i;
  }
  EXPECT_EQ(FindCompact(back), layout);
}

}  // namespace
}  // namespace fettle
