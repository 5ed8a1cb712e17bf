// Bytes widened and summed by vectors of AVX2.
#include "kernels/cpu/quantised_avx2/wide_row.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "kernels/cpu/quantised/microkernel.h"
#include "kernels/cpu/quantised_avx2/byte_sum.h"

namespace fettle::kernels {
namespace {

TEST(WideRow, HoldsEachByteLessItsZeroPointAndWritesNothingElse) {
  if (!RunsAvx2()) GTEST_SKIP() << "no AVX2";
  constexpr int16_t kUntouched = 31000;
  std::mt19937 random(5);
  for (int64_t count = 0; count < 70; ++count) {
    for (const bool is_signed : {false, true}) {
      std::vector<uint8_t> x(count);  // of its own size, so that sanitizers see what is read
      for (uint8_t& byte : x) byte = static_cast<uint8_t>(random());
      const auto zero = static_cast<int16_t>(random() % 256 - (is_signed ? 128 : 0));
      std::vector<int16_t> wide(count + 20, kUntouched);
      WidenRowAvx2(x.data(), count, is_signed ? 0x80 : 0,
                   static_cast<int16_t>(is_signed ? zero + 128 : zero), wide.data());
      for (int64_t i = 0; i < count; ++i) {
        const int value = is_signed ? static_cast<int8_t>(x[i]) : x[i];
        ASSERT_EQ(wide[i], value - zero) << i << " of " << count;
      }
      for (int64_t i = count; i < count + 20; ++i) ASSERT_EQ(wide[i], kUntouched) << count;
    }
  }
}

TEST(ByteSum, AddsEachByteOnceAndReadsNothingElse) {
  if (!RunsAvx2()) GTEST_SKIP() << "no AVX2";
  std::mt19937 random(7);
  for (int64_t count = 0; count < 200; ++count) {
    std::vector<uint8_t> x(count);
    for (uint8_t& byte : x) byte = static_cast<uint8_t>(count % 3 == 0 ? 255 : random());
    for (const uint8_t flip : {uint8_t{0}, uint8_t{0x80}}) {
      int32_t sum = 0;
      for (uint8_t byte : x) sum += byte ^ flip;
      ASSERT_EQ(SumBytesAvx2(x.data(), count, flip), sum) << count;
    }
  }
}

TEST(WideRow, HasTheTapsOfEachRowOneBehindTheOther) {
  if (!RunsAvx2()) GTEST_SKIP() << "no AVX2";
  constexpr int16_t kUntouched = 31000;
  std::mt19937 random(6);
  for (int64_t depth = 1; depth < 40; ++depth) {
    const std::vector<int64_t> taps{0, 50, 170};
    const auto count = static_cast<int64_t>(taps.size());
    const int64_t stride = (count * depth + 1) / 2 * 2, last = 2 + taps.back() + depth;
    std::vector<uint8_t> x(last + kWideTapsBehind);
    for (uint8_t& byte : x) byte = static_cast<uint8_t>(random());
    const std::vector<const uint8_t*> rows{x.data() + 2, x.data(), x.data() + 1};
    std::vector<int16_t> wide(3 * stride + kWideTapsBehind + 5, kUntouched);
    WidenTapsAvx2(
        {.rows = rows, .taps = taps, .depth = depth, .flip = 0x80, .zero = 200, .stride = stride},
        wide.data());
    for (size_t r = 0; r < rows.size(); ++r) {
      const int16_t* found = wide.data() + static_cast<int64_t>(r) * stride;
      for (const int64_t tap : taps) {
        for (int64_t i = 0; i < depth; ++i)
          ASSERT_EQ(*found++, (rows[r][tap + i] ^ 0x80) - 200) << i << " of " << depth;
      }
    }
    for (int64_t i = 1; i <= 5; ++i) ASSERT_EQ(wide[wide.size() - i], kUntouched) << depth;
  }
}

}  // namespace
}  // namespace fettle::kernels
