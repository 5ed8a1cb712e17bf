// Frequencies of rotary positions.
#include <gtest/gtest.h>

#include "importers/gguf/decoder.h"

namespace fettle::gguf {
namespace {

TEST(RotaryTest, FallByPowersOfTheBase) {
  const Rotary rotary{.rotated = 8, .base = 10000};
  EXPECT_DOUBLE_EQ(rotary.Frequency(0, 1), 1);
  EXPECT_DOUBLE_EQ(rotary.Frequency(2, 1), 0.01);
  EXPECT_DOUBLE_EQ(rotary.Frequency(2, 4), 0.0025);
}

TEST(RotaryTest, AreStretched) {
  const Rotary rotary{.rotated = 8, .base = 10000, .stretch = 4};
  EXPECT_DOUBLE_EQ(rotary.Frequency(0, 1), 0.25);
}

/// Of 4,096 positions pairs that turn 32 times and more stay, those that turn less than once are
/// stretched, and none turns faster than before or slower than that.
TEST(RotaryTest, YarnKeepsWhatTurnsOften) {
  const Rotary plain{.rotated = 128, .base = 10000};
  Rotary rotary = plain;
  rotary.stretch = 8;
  rotary.yarn = true;
  rotary.context = 4096;
  EXPECT_DOUBLE_EQ(rotary.Frequency(0, 1), 1);
  EXPECT_DOUBLE_EQ(rotary.Frequency(63, 1), plain.Frequency(63, 1) / 8);
  int between = 0;
  for (int64_t pair = 0; pair < 64; ++pair) {
    const double share = rotary.Frequency(pair, 1) / plain.Frequency(pair, 1);
    EXPECT_LE(share, 1);
    EXPECT_GE(share, 0.125);
    between += share > 0.126 && share < 0.999 ? 1 : 0;
  }
  EXPECT_GT(between, 5);
}

TEST(RotaryTest, LongContextsHaveFactorsOfTheirOwn) {
  const Rotary rotary{.context = 4096, .factors = "short", .long_factors = "long"};
  EXPECT_EQ(rotary.FactorsIn(4096), "short");
  EXPECT_EQ(rotary.FactorsIn(4097), "long");
}

}  // namespace
}  // namespace fettle::gguf
