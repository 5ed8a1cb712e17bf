// Matrices of constants as floats of 32 and 16 bits, as they are and transposed.
#include "kernels/opencl/constant_floats.h"

#include <gtest/gtest.h>

namespace fettle::kernels {
namespace {

/// Small numbers that f16 and i8 hold.
template <class T>
Constant Numbers(DType dtype, int64_t count) {
  Tensor tensor = Tensor::Create(dtype, Shape{count}).value();
  for (int64_t i = 0; i < count; ++i) tensor.as<T>()[i] = T(static_cast<float>(i % 251 - 125));
  return Constant::FromTensor(tensor);
}

template <class T>
void ExpectStored(const Constant& constant, const ConstantMatrix& matrix, DType storage) {
  constexpr float kBetween = 77;
  const int64_t stored_rows = matrix.transposes ? matrix.columns : matrix.rows;
  const int64_t stored_columns = matrix.transposes ? matrix.rows : matrix.columns;
  std::vector<T> array(matrix.to + stored_rows * matrix.pitch, T(kBetween));
  StoreMatrix(constant, matrix, storage, reinterpret_cast<std::byte*>(array.data()));
  for (int64_t r = 0; r < stored_rows; ++r) {
    for (int64_t c = 0; c < matrix.pitch; ++c) {
      const int64_t from = matrix.transposes ? c * matrix.columns + r : r * matrix.columns + c;
      const auto want =
          c < stored_columns ? static_cast<float>((matrix.first + from) % 251 - 125) : kBetween;
      ASSERT_EQ(static_cast<float>(array[matrix.to + r * matrix.pitch + c]), want) << r << " " << c;
    }
  }
}

TEST(ConstantFloats, MatricesAreStoredByBlocksWithoutALoss) {
  // The second of two matrices; neither side is whole blocks.
  constexpr int64_t kRows = 19, kColumns = 1030;
  const Constant f32 = Numbers<float>(DType::kF32, 2 * kRows * kColumns);
  const Constant f16 = Numbers<Half>(DType::kF16, 2 * kRows * kColumns);
  const Constant i8 = Numbers<int8_t>(DType::kI8, 2 * kRows * kColumns);
  for (const Constant* constant : {&f32, &f16, &i8}) {
    for (const bool transposes : {false, true}) {
      for (const int64_t between : {0, 3}) {
        const ConstantMatrix matrix{.first = kRows * kColumns,
                                    .rows = kRows,
                                    .columns = kColumns,
                                    .transposes = transposes,
                                    .to = 5,
                                    .pitch = (transposes ? kRows : kColumns) + between};
        ExpectStored<float>(*constant, matrix, DType::kF32);
        ExpectStored<Half>(*constant, matrix, DType::kF16);
      }
    }
  }
}

TEST(ConstantFloats, AreReadAsNumbersOfAnyType) {
  const Constant i8 = Numbers<int8_t>(DType::kI8, 300);
  const std::vector<float> floats = AllFloats(i8);
  const ConstantFloats read(i8);
  for (int64_t i = 0; i < 300; ++i) {
    EXPECT_EQ(floats[i], static_cast<float>(i % 251 - 125));
    EXPECT_EQ(read[i], floats[i]);
  }
}

}  // namespace
}  // namespace fettle::kernels
