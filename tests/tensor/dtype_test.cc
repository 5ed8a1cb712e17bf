#include "tensor/dtype.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "tensor/shape.h"

namespace fettle {
namespace {

/// Half to float by the definition of binary16.
float DecodeHalf(uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int fraction = bits & 1023;
  const float sign = bits & 0x8000 ? -1.0f : 1.0f;
  if (exponent == 31) return fraction ? std::nanf("") : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
  return sign * std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
}

TEST(DTypeTest, NamesParseBack) {
  for (const DTypeRow& row : DTypeTable()) EXPECT_EQ(DTypeFromName(row.name), row.dtype);
  EXPECT_EQ(DTypeTable().back().dtype, DType::kComplex128);
  EXPECT_EQ(DTypeFromName("f33"), std::nullopt);
}

TEST(DTypeTest, RowsAgreeWithTheTypesThatHoldElements) {
  for (const DTypeRow& row : DTypeTable()) {
    EXPECT_LE(row.bits, row.stored_bits) << row.name;
    EXPECT_TRUE(row.stored_bits % 8 == 0 || (row.stored_bits != 0 && 8 % row.stored_bits == 0))
        << row.name;
    DispatchDType(row.dtype, [&]<typename T>() {
      EXPECT_EQ(StorageBytes(row.dtype, 1), static_cast<int64_t>(sizeof(T))) << row.name;
      EXPECT_EQ(IsFloat(row.dtype), kIsFloating<T>) << row.name;
      constexpr bool kIsInteger = std::is_integral_v<T> && DTypeOf<T>() != DType::kBool;
      EXPECT_EQ(IsInteger(row.dtype), kIsInteger) << row.name;
    });
  }
}

/// Fields of 1, 4 and 8 bits and of whole bytes: bytes grow with elements, hold all of them with
/// less than a byte to spare, add up at byte borders, and count backwards too.
TEST(DTypeTest, PackedBytesHoldAllElementsAndNoByteMore) {
  constexpr int64_t kCounts[] = {0,  1,  2,  3,  7,  8,       9,           15,
                                 16, 17, 63, 64, 65, 1000003, kMaxElements};
  for (const int bits : {1, 4, 8, 16, 64, 128}) {
    const int64_t in_step = bits < 8 ? 8 / bits : 1;  // elements from one byte border to the next
    for (const int64_t elements : kCounts) {
      const int64_t bytes = PackedBytes(bits, elements);
      EXPECT_GE(bytes * 8, elements * bits) << bits;
      EXPECT_LT(bytes * 8, elements * bits + 8) << bits;
      EXPECT_LE(bytes, PackedBytes(bits, elements + 1)) << bits;
      const int64_t border = elements / in_step * in_step;
      EXPECT_EQ(bytes, PackedBytes(bits, border) + PackedBytes(bits, elements - border)) << bits;
      EXPECT_EQ(PackedBytes(bits, -border), -PackedBytes(bits, border)) << bits;
    }
  }
}

TEST(DTypeTest, FourBitIntegersTakeAByteInTensorsAndHalfAByteInFiles) {
  for (const DType dtype : {DType::kI4, DType::kU4}) {
    EXPECT_TRUE(IsSubByte(dtype));
    EXPECT_EQ(StorageBytes(dtype, 5), 5);
    EXPECT_EQ(PackedBytes(RowOf(dtype).bits, 5), 3);
  }
  EXPECT_FALSE(IsSubByte(DType::kI8));
  EXPECT_FALSE(IsSubByte(DType::kF8E5M2));
  EXPECT_FALSE(IsStored(DType::kString));
}

TEST(DTypeTest, EveryHalfDecodesByDefinitionAndRoundTrips) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    Half half;
    half.bits = static_cast<uint16_t>(bits);
    const float value = static_cast<float>(half);
    const float want = DecodeHalf(half.bits);
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(value));
      EXPECT_TRUE(std::isnan(static_cast<float>(Half(value))));
      continue;
    }
    ASSERT_EQ(value, want) << bits;
    ASSERT_EQ(Half(value).bits, half.bits) << bits;
  }
}

TEST(DTypeTest, HalfRoundsToNearestEven) {
  EXPECT_EQ(Half(1.0f + 0x1p-11f).bits, Half(1.0f).bits);                // tie, to even
  EXPECT_EQ(Half(1.0f + 3 * 0x1p-11f).bits, Half(1.0f + 0x1p-9f).bits);  // tie, to even
  EXPECT_EQ(Half(65519.0f).bits, 0x7bff);
  EXPECT_EQ(Half(65520.0f).bits, 0x7c00);
  EXPECT_EQ(Half(0x1p-25f).bits, 0);
  EXPECT_EQ(Half(0x1.8p-25f).bits, 1);
}

TEST(DTypeTest, BFloat16RoundTripsAndRounds) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    BFloat16 value;
    value.bits = static_cast<uint16_t>(bits);
    const float decoded = static_cast<float>(value);
    if (std::isnan(decoded)) continue;
    ASSERT_EQ(BFloat16(decoded).bits, value.bits);
  }
  EXPECT_EQ(BFloat16(std::bit_cast<float>(0x3f808000u)).bits, 0x3f80);  // tie, to even
  EXPECT_EQ(BFloat16(std::bit_cast<float>(0x3f818000u)).bits, 0x3f82);
  EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(std::nanf("")))));
}

template <typename F8>
void ExpectRoundTrip() {
  for (int bits = 0; bits < 256; ++bits) {
    F8 value;
    value.bits = static_cast<uint8_t>(bits);
    const float decoded = static_cast<float>(value);
    if (!std::isfinite(decoded)) continue;
    EXPECT_EQ(F8(decoded).bits, value.bits) << bits;
  }
}

TEST(DTypeTest, EightBitFloatsRoundTripAndSaturate) {
  ExpectRoundTrip<F8E4M3FN>();
  ExpectRoundTrip<F8E5M2>();
  EXPECT_EQ(static_cast<float>(F8E4M3FN(1e6f)), 448.0f);
  EXPECT_EQ(static_cast<float>(F8E5M2(1e6f)), 57344.0f);
  EXPECT_TRUE(std::isnan(static_cast<float>(F8E4M3FN(std::nanf("")))));
}

}  // namespace
}  // namespace fettle
