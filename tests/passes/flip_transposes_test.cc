// Transposed convolutions of stride 1 as convolutions.
#include "passes/rewrite/flip_transposes.h"

#include <gtest/gtest.h>

#include <random>

#include "equivalence.h"

namespace fettle::passes {
namespace {

std::string Transposed(std::string_view x, std::string_view weights, std::string_view attributes) {
  return fmt::format(
      "input %x: f32[{}]\nconst %w: f32[{}]\n%y = ConvTranspose(%x, %w) {{{}}}\noutput %y\n", x,
      weights, attributes);
}

std::string OpsAfter(std::string_view x, std::string_view weights, std::string_view attributes) {
  return Ops(Rewrite(FlipTransposes, Transposed(x, weights, attributes)));
}

constexpr char kFlipped[] = "Slice Reshape Transpose Reshape Conv";

TEST(FlipTransposes, TakesEveryRankAndPadsThatTheKernelSpans) {
  EXPECT_EQ(OpsAfter("1x4x9", "4x5x3", "pads=[1,1]"), kFlipped);
  EXPECT_EQ(OpsAfter("2x6x5x7", "6x2x3x4", "group=3, dilations=[2,1]"), kFlipped);
  EXPECT_EQ(OpsAfter("1x4x3x4x5", "4x1x2x1x3", "group=4, pads=[0,0,1,1,0,1]"), kFlipped);
  EXPECT_EQ(OpsAfter("1x4x5x5", "4x3x3x3", "output_shape=[5,5], auto_pad=\"SAME_LOWER\""),
            kFlipped);
}

TEST(FlipTransposes, LeavesStridesAndPadsBehindTheKernel) {
  EXPECT_EQ(OpsAfter("1x4x9", "4x5x3", "strides=[2]"), "ConvTranspose");
  EXPECT_EQ(OpsAfter("1x4x9x9", "4x5x3x3", "strides=[1,2]"), "ConvTranspose");
  EXPECT_EQ(OpsAfter("1x4x9", "4x5x3", "pads=[3,0]"), "ConvTranspose");
}

TEST(FlipTransposes, KeepsWhatRandomConvolutionsCompute) {
  std::mt19937 random(31);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  int flipped = 0;
  for (int i = 0; i < 300; ++i) {
    const int groups = 1 + below(3), kh = 1 + below(4), kw = 1 + below(4);
    const int dh = 1 + below(3), dw = 1 + below(3);
    int pads[4];
    for (int axis = 0; axis < 4; ++axis)
      pads[axis] = below((axis % 2 == 0 ? kh - 1 : kw - 1) * (axis % 2 == 0 ? dh : dw) + 1);
    const int h = pads[0] + pads[2] + 1 + below(6), w = pads[1] + pads[3] + 1 + below(6);
    const int stride = below(6) == 0 ? 2 : 1;
    const std::string attributes =
        fmt::format("group={}, dilations=[{},{}], strides=[{},1], pads=[{}]", groups, dh, dw,
                    stride, fmt::join(pads, ","));
    SCOPED_TRACE(attributes);
    flipped += OpsAfter(fmt::format("2x{}x{}x{}", 2 * groups, h, w),
                        fmt::format("{}x{}x{}x{}", 2 * groups, 1 + below(3), kh, kw),
                        attributes) == kFlipped;
  }
  EXPECT_GT(flipped, 100);
}

}  // namespace
}  // namespace fettle::passes
