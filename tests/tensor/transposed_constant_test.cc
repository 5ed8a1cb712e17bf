// Constants that are transposed as they are read.
#include "tensor/transposed_constant.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace fettle {
namespace {

/// `count` elements from `begin` on of `base` with permuted axes, by coordinates.
std::vector<int32_t> Expected(const Tensor& base, const std::vector<int>& perm, int64_t begin,
                              int64_t count) {
  std::vector<int32_t> values;
  for (int64_t i = begin; i < begin + count; ++i) {
    int64_t rest = i, offset = 0;
    for (size_t axis = perm.size(); axis-- > 0;) {
      const int64_t extent = base.shape()[perm[axis]];
      offset += rest % extent * base.shape().Count(perm[axis] + 1, base.shape().rank());
      rest /= extent;
    }
    values.push_back(base.as<int32_t>()[offset]);
  }
  return values;
}

TEST(Transposed, GivesAnyRangeInTheNewOrder) {
  const Shape shape{3, 5, 2, 7};
  std::vector<int32_t> numbers(static_cast<size_t>(shape.elements()));
  std::iota(numbers.begin(), numbers.end(), 0);
  const Tensor base = Tensor::FromVector(shape, numbers).value();
  std::mt19937 random(7);
  std::vector<int> perm = {0, 1, 2, 3};
  for (int i = 0; i < 50; ++i) {
    std::shuffle(perm.begin(), perm.end(), random);
    const Constant constant = Transposed(Constant::FromTensor(base), perm);
    const auto begin = static_cast<int64_t>(random() % 210),
               count = static_cast<int64_t>(random() % (211 - begin));
    std::vector<int32_t> read(static_cast<size_t>(count));
    constant.CopyTo(begin, count, std::as_writable_bytes(std::span(read)).data());
    EXPECT_EQ(read, Expected(base, perm, begin, count));
  }
}

TEST(Transposed, ElementsOfAllSizes) {
  for (const DType dtype : {DType::kI8, DType::kF16, DType::kF32, DType::kF64}) {
    const Tensor base = Tensor::Create(dtype, Shape{2, 3}).value();
    for (int64_t i = 0; i < 6; ++i) base.view().SetDouble(i, static_cast<double>(i));
    const Constant constant = Transposed(Constant::FromTensor(base), {1, 0});
    EXPECT_EQ(constant.shape(), (Shape{3, 2}));
    for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(constant.GetDouble(i), (i % 2) * 3 + i / 2);
  }
}

TEST(Transposed, HashesTellOrders) {
  const Constant base =
      Constant::FromTensor(Tensor::FromVector(Shape{2, 2, 2}, std::vector<float>(8, 1.0F)).value());
  EXPECT_NE(Transposed(base, {1, 0, 2}).Hash(), Transposed(base, {0, 2, 1}).Hash());
  EXPECT_EQ(Transposed(base, {1, 0, 2}).Hash(), Transposed(base, {1, 0, 2}).Hash());
}

}  // namespace
}  // namespace fettle
