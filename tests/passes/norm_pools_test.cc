// Poolings of norms as averages of powers.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "equivalence.h"
#include "passes/rewrite/spell_norm_pools.h"

namespace fettle::passes {
namespace {

/// What an LpPool becomes; its results are the same afterwards.
std::string Pooled(std::string_view attributes, std::string_view type = "f32[2x3x9x8]",
                   std::string_view op = "LpPool") {
  return Ops(
      Rewrite(SpellNormPools,
              fmt::format("input %x: {}\n%y = {}(%x) {{{}}}\noutput %y\n", type, op, attributes),
              true, 1e-5));
}

TEST(NormPools, AreAveragesOfPowers) {
  EXPECT_EQ(Pooled("kernel_shape=[3,2]"), "Mul AveragePool Mul Sqrt");
  EXPECT_EQ(Pooled("kernel_shape=[3,2], p=1, strides=[2,3]"), "Abs AveragePool Mul");
  EXPECT_EQ(Pooled("kernel_shape=[3,2], p=3, dilations=[2,1]"), "Abs Pow AveragePool Mul Pow");
  for (const char* more : {"pads=[2,1,0,1]", "auto_pad=\"SAME_UPPER\", strides=[2,2]",
                           "auto_pad=\"SAME_LOWER\", dilations=[2,3]", "auto_pad=\"VALID\""})
    EXPECT_EQ(Pooled(fmt::format("kernel_shape=[3,2], {}", more)), "Mul AveragePool Mul Sqrt");
  EXPECT_EQ(Pooled("kernel_shape=[4], pads=[3,3], strides=[3]", "f32[1x5x29]"),
            "Mul AveragePool Mul Sqrt");
}

TEST(NormPools, OfOneTapAreMagnitudes) {
  EXPECT_EQ(Pooled("kernel_shape=[1,1]"), "Abs");
  EXPECT_EQ(Pooled("kernel_shape=[1,1], pads=[1,0,0,0]"), "Mul AveragePool Mul Sqrt");
  EXPECT_EQ(Pooled("kernel_shape=[1,1], strides=[2,1]"), "Mul AveragePool Mul Sqrt");
}

TEST(NormPools, OfWholePlanesAreReductions) {
  EXPECT_EQ(Pooled("p=1", "f32[2x3x9x8]", "GlobalLpPool"), "ReduceL1");
  EXPECT_EQ(Pooled("p=2", "f32[2x3x9]", "GlobalLpPool"), "ReduceL2");
  EXPECT_EQ(Pooled("p=3", "f32[2x3x9x8]", "GlobalLpPool"), "GlobalLpPool");
}

TEST(NormPools, StayWhereWindowsPassThePaddingOrTypesAreShort) {
  EXPECT_EQ(Pooled("kernel_shape=[3,3], strides=[2,2], ceil_mode=1"), "LpPool");
  EXPECT_EQ(Pooled("kernel_shape=[3,3]", "f16[2x3x9x8]"), "LpPool");
}

}  // namespace
}  // namespace fettle::passes
