#include "tensor/tensor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tensor/compare.h"

namespace fettle {
namespace {

TEST(Tensor, LargeOnesAreZerosAndAligned) {
  // Below, at and above the size from which blocks are mapped.
  constexpr int64_t kMapped = int64_t{32} << 20;
  for (const int64_t bytes : {int64_t{1} << 12, kMapped - 65, kMapped - 64, kMapped + 4097}) {
    for (int again = 0; again < 2; ++again) {
      const Result<Tensor> tensor = Tensor::Create(DType::kU8, Shape{bytes});
      ASSERT_TRUE(tensor.ok()) << tensor.status().message();
      EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor->data()) % kTensorAlignment, 0u);
      const std::span<const std::byte> all(tensor->data(), bytes + kTensorSlack);
      EXPECT_TRUE(std::ranges::all_of(all, [](std::byte b) { return b == std::byte{0}; }));
      std::memset(tensor->data(), 0xff, bytes);
    }
  }
}

TEST(ShapeTest, CountsElementsWithoutOverflow) {
  EXPECT_EQ(Shape({2, 3, 4}).CheckedElements(), 24);
  EXPECT_EQ(Shape({}).CheckedElements(), 1);
  EXPECT_EQ(Shape({5, 0, 7}).CheckedElements(), 0);
  EXPECT_EQ(Shape({int64_t{1} << 40, int64_t{1} << 40}).CheckedElements(), std::nullopt);
  EXPECT_EQ(Shape({INT64_MAX, 0}).CheckedElements(), std::nullopt);
  EXPECT_EQ(Shape({-1, 3}).CheckedElements(), std::nullopt);
}

TEST(ShapeTest, Broadcasts) {
  EXPECT_EQ(BroadcastShapes({2, 1, 4}, {3, 1}), (Shape{2, 3, 4}));
  EXPECT_EQ(BroadcastShapes({}, {0, 2}), (Shape{0, 2}));
  EXPECT_EQ(BroadcastShapes({2}, {3}), std::nullopt);
}

TEST(TensorTest, RefusesSizesThatNoMemoryHolds) {
  EXPECT_EQ(Tensor::Create(DType::kF32, Shape{int64_t{1} << 41}).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(Tensor::Create(DType::kF64, Shape{int64_t{1} << 40}).status().code(),
            StatusCode::kOutOfMemory);
  EXPECT_EQ(Tensor::Create(DType::kString, Shape{1}).status().code(), StatusCode::kUnsupported);
}

TEST(TensorTest, IsAlignedZeroedAndHasReadableBytesBehind) {
  const Tensor tensor = Tensor::Create(DType::kI8, Shape{3}).value();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.data()) % kTensorAlignment, 0u);
  for (size_t i = 0; i < 3 + kTensorSlack; ++i) EXPECT_EQ(tensor.data()[i], std::byte{0});
}

TEST(ConstantTest, ReadsUnalignedBytesAndSplats) {
  std::vector<std::byte> bytes(1 + 3 * sizeof(float));
  const float values[] = {1.5f, -2.0f, 3.0f};
  std::memcpy(bytes.data() + 1, values, sizeof(values));
  const Constant constant =
      Constant::FromBytes(DType::kF32, Shape{3}, std::span(bytes).subspan(1), nullptr);
  EXPECT_EQ(constant.GetDouble(1), -2.0);
  const Tensor copy = constant.ToTensor().value();
  EXPECT_EQ(copy.as<float>()[2], 3.0f);

  const float half = 0.5f;
  const Constant splat =
      Constant::Splat(DType::kF32, Shape{1000, 1000}, std::as_bytes(std::span(&half, 1)));
  EXPECT_EQ(splat.bytes().size(), sizeof(float));
  EXPECT_EQ(splat.GetDouble(999999), 0.5);
  float piece[2];
  splat.CopyTo(5, 2, reinterpret_cast<std::byte*>(piece));
  EXPECT_EQ(piece[1], 0.5f);
  EXPECT_NE(splat.Hash(), splat.Reshaped(Shape{1000000}).Hash());
}

TEST(CompareTest, FindsTheFirstBadElementAndCountsNanAsEqualToNan) {
  const Tensor want = Tensor::FromVector<float>(Shape{2, 2}, {1, NAN, 3, INFINITY}).value();
  const Tensor got = Tensor::FromVector<float>(Shape{2, 2}, {1, NAN, 4, INFINITY}).value();
  const Difference same = Compare(want.view(), want.view(), {});
  EXPECT_TRUE(same.ok());
  EXPECT_TRUE(std::isinf(same.sqnr_db));
  const Difference difference = Compare(got.view(), want.view(), {.atol = 0.5});
  EXPECT_EQ(difference.bad, 1);
  EXPECT_EQ(difference.first_bad, 2);
  EXPECT_EQ(difference.max_abs, 1.0);
  EXPECT_NE(difference.ToString(want.shape()).find("first at 1x0: expected 3, got 4"),
            std::string::npos);
  EXPECT_FALSE(
      Compare(got.view(), Tensor::FromVector<float>(Shape{2, 2}, {1, 2, 4, INFINITY})->view(), {})
          .ok());
}

TEST(CompareTest, ToleranceGrowsWithTheAccumulationAndIsZeroForIntegers) {
  EXPECT_LT(KernelTolerance(DType::kF32, 1).atol, KernelTolerance(DType::kF32, 10000).atol);
  EXPECT_LT(KernelTolerance(DType::kF32, 1).rtol, KernelTolerance(DType::kF16, 1).rtol);
  EXPECT_EQ(KernelTolerance(DType::kI32, 100).atol, 0);
}

}  // namespace
}  // namespace fettle
