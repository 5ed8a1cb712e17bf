#include "tensor/packed_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fettle {
namespace {

using testing::ElementsAre;

Constant Bytes(const std::vector<uint8_t>& bytes) {
  const Shape shape{static_cast<int64_t>(bytes.size())};
  return Constant::FromTensor(Tensor::FromVector(shape, bytes).value());
}

std::vector<int64_t> Elements(const Constant& constant) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < constant.elements(); ++i) values.push_back(constant.GetInt(i));
  return values;
}

TEST(PackedRows, RowsOfEachWidthAndTheirTranspose) {
  const Constant packed = Bytes({0x21, 0xf3, 0x54, 0x08});
  const PackedRows rows = {.rows = 2, .columns = 3, .row_bytes = 2, .bits = 4};
  EXPECT_THAT(Elements(UnpackWhenRead(DType::kU4, packed, rows, false)),
              ElementsAre(1, 2, 3, 4, 5, 8));
  EXPECT_THAT(Elements(UnpackWhenRead(DType::kU4, packed, rows, true)),
              ElementsAre(1, 4, 2, 5, 3, 8));
  EXPECT_THAT(Elements(UnpackWhenRead(DType::kI4, packed, rows, false)),
              ElementsAre(1, 2, 3, 4, 5, -8));
  const PackedRows pairs = {.rows = 1, .columns = 5, .row_bytes = 4, .bits = 2};
  EXPECT_THAT(Elements(UnpackWhenRead(DType::kU4, packed, pairs, false)),
              ElementsAre(1, 0, 2, 0, 3));
}

TEST(PackedRows, PiecesAreThoseOfTheWhole) {
  std::vector<uint8_t> bytes(7 * 9);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 37);
  const PackedRows rows = {.rows = 9, .columns = 13, .row_bytes = 7, .bits = 4};
  for (const bool transposed : {false, true}) {
    const Constant all = UnpackWhenRead(DType::kI4, Bytes(bytes), rows, transposed);
    const Tensor whole = all.ToTensor().value();
    for (int64_t begin = 0; begin < all.elements(); ++begin) {
      const int64_t count = std::min<int64_t>(18, all.elements() - begin);
      std::vector<std::byte> piece(count);
      all.CopyTo(begin, count, piece.data());
      EXPECT_TRUE(std::equal(piece.begin(), piece.end(), whole.bytes().begin() + begin)) << begin;
    }
  }
}

TEST(PackedRows, NibblesComeBack) {
  std::vector<int8_t> values;
  for (int i = 0; i < 10001; ++i) values.push_back(static_cast<int8_t>(i % 16 - 8));
  const Tensor i8 = Tensor::FromVector(Shape{10001}, values).value();
  const Constant i4 =
      Constant::FromTensor(Tensor::Borrow(DType::kI4, Shape{73, 137}, i8.data(), i8.storage()));
  const Tensor packed = PackNibbles(i4).value();
  EXPECT_EQ(packed.elements(), 5001);
  const Constant back = FromNibbles(DType::kI4, i4.shape(), Constant::FromTensor(packed));
  EXPECT_EQ(Elements(back), Elements(i4));
  EXPECT_EQ(back.Hash(), FromNibbles(DType::kI4, i4.shape(), Constant::FromTensor(packed)).Hash());
}

}  // namespace
}  // namespace fettle
