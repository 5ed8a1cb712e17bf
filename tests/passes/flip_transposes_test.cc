// Transposed convolutions as convolutions.
#include "passes/conv/flip_transposes.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "equivalence.h"
#include "passes/conv/transposed_columns.h"
#include "passes/conv/transposed_lines.h"

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

std::string ColumnsOf(std::string_view x, std::string_view weights, std::string_view attributes) {
  return Ops(Rewrite(SpellTransposedColumns, Transposed(x, weights, attributes)));
}

constexpr char kColumns[] = "Reshape Transpose Reshape Conv Reshape Col2Im";

TEST(TransposedColumns, TakesSmallMapsUnderLargeKernels) {
  EXPECT_EQ(ColumnsOf("1x200x1x1", "200x16x4x4", ""), kColumns);
  EXPECT_EQ(OpsAfter("1x200x1x1", "200x16x4x4", ""), "ConvTranspose");
  EXPECT_EQ(ColumnsOf("2x200x2x2x1", "200x5x3x3x3", "pads=[1,0,0,0,1,1]"), kColumns);
  EXPECT_EQ(ColumnsOf("1x600x3", "600x12x7", "group=2, dilations=[2]"), kColumns);
  EXPECT_EQ(ColumnsOf("1x20x30x30", "20x16x4x4", ""), "ConvTranspose");
}

TEST(TransposedColumns, TakesManyChannelsToFew) {
  EXPECT_EQ(ColumnsOf("1x100x6x5", "100x2x3x3", "strides=[2,2], output_padding=[1,1]"), kColumns);
  EXPECT_EQ(ColumnsOf("1x80x9x40", "80x1x5x3", "strides=[2,2], pads=[2,1,1,0]"), kColumns);
  EXPECT_EQ(ColumnsOf("1x80x9x40", "80x48x3x3", "strides=[2,2]"), "ConvTranspose");
  // Pads before the image that are none.
  EXPECT_EQ(ColumnsOf("1x100x6x5", "100x2x3x3", "strides=[2,2], output_shape=[18,12]"),
            "ConvTranspose");
}

TEST(TransposedColumns, AddsItsBias) {
  EXPECT_EQ(Ops(Rewrite(SpellTransposedColumns,
                        "input %x: f32[2x400x4x3]\nconst %w: f32[400x3x3x2]\nconst %b: f32[3]\n"
                        "%y = ConvTranspose(%x, %w, %b) {strides=[2,1]}\noutput %y\n")),
            "Reshape Transpose Reshape Conv Reshape Col2Im Reshape Add");
}

/// Of any cost: no kernel takes them as they are.
TEST(TransposedColumns, TakesComputedWeights) {
  const auto spelt = [](std::string_view attributes) {
    return Ops(Rewrite(SpellTransposedColumns,
                       fmt::format("input %x: f32[1x20x9x9]\ninput %w: f32[20x16x4x4]\n"
                                   "%y = ConvTranspose(%x, %w) {{{}}}\noutput %y\n",
                                   attributes)));
  };
  for (const char* attributes : {"strides=[2,2], pads=[1,1,1,1]", "group=4, strides=[3,1]",
                                 "strides=[2,2], output_padding=[1,0], dilations=[1,2]"}) {
    SCOPED_TRACE(attributes);
    EXPECT_EQ(spelt(attributes), kColumns);
  }
}

TEST(TransposedColumns, LeavesOtherTypes) {
  EXPECT_EQ(Ops(Rewrite(SpellTransposedColumns,
                        "input %x: f16[1x20x1x1]\nconst %w: f16[20x16x4x4]\n"
                        "%y = ConvTranspose(%x, %w)\noutput %y\n")),
            "ConvTranspose");
}

TEST(TransposedColumns, KeepsWhatRandomConvolutionsCompute) {
  std::mt19937 random(47);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  int spelt = 0;
  for (int i = 0; i < 200; ++i) {
    const int groups = 1 + below(2), kh = 1 + below(5), kw = 1 + below(5);
    const int dh = 1 + below(2), dw = 1 + below(2), sh = 1 + below(3), sw = 1 + below(3);
    int pads[4];
    for (int axis = 0; axis < 4; ++axis) pads[axis] = below(axis % 2 == 0 ? kh : kw);
    const int h = 5 + below(4), w = 5 + below(4);
    const std::string attributes = fmt::format(
        "group={}, dilations=[{},{}], strides=[{},{}], pads=[{}], output_padding=[{},{}]", groups,
        dh, dw, sh, sw, fmt::join(pads, ","), below(sh), below(sw));
    SCOPED_TRACE(attributes);
    spelt += Ops(Rewrite(SpellTransposedColumns,
                         Transposed(fmt::format("2x{}x{}x{}", 40 * groups, h, w),
                                    fmt::format("{}x{}x{}x{}", 40 * groups, 1 + below(2), kh, kw),
                                    attributes))) == kColumns;
  }
  EXPECT_GT(spelt, 60);
}

using ::testing::HasSubstr;
using ::testing::Not;

std::string Text(int64_t extent, int64_t channels, int64_t taps, const std::string& attributes,
                 bool bias = true) {
  return fmt::format(
      "input %x: f32[2x5x{0}]\nconst %w: f32[5x{1}x{2}]\n{4}"
      "%y = ConvTranspose(%x, %w{5}) {{{3}}}\noutput %y\n",
      extent, channels, taps, attributes, bias ? fmt::format("const %b: f32[{}]\n", channels) : "",
      bias ? ", %b" : "");
}

TEST(SpellTransposedLines, KeepsWhatFewChannelsCompute) {
  for (const auto& [extent, channels, taps, attributes] :
       {std::tuple(7, 1, 4, "strides=[4]"),
        {7, 1, 16, "strides=[8]"},
        {9, 2, 9, "strides=[4], pads=[2,1]"},
        {9, 1, 4, "strides=[2], pads=[1,1]"},
        {1, 1, 8, "strides=[4], pads=[1,3]"},
        {5, 1, 3, "strides=[7]"},
        {6, 3, 10, "strides=[5], pads=[0,3], output_padding=[2]"},
        {6, 1, 8, "strides=[4], output_padding=[3]"},
        {6, 1, 9, "strides=[3], auto_pad=\"SAME_UPPER\""}}) {
    const ir::Graph graph = Rewrite(SpellTransposedLines, Text(extent, channels, taps, attributes));
    EXPECT_THAT(Ops(graph), Not(HasSubstr("ConvTranspose"))) << attributes;
    EXPECT_THAT(Ops(graph), HasSubstr("Conv")) << attributes;
  }
  const ir::Graph graph = Rewrite(SpellTransposedLines, Text(7, 1, 4, "strides=[4]", false));
  EXPECT_THAT(Ops(graph), Not(HasSubstr("ConvTranspose")));
}

TEST(SpellTransposedLines, LeavesWhatGainsNothingOrIsNoLine) {
  for (const std::string& text : {
           Text(7, 16, 4, "strides=[2]"),  // phases of whole vectors
           Text(7, 1, 3, "strides=[1]"),   // one phase
           Text(7, 1, 4, "strides=[4], dilations=[2]"),
           Text(7, 1, 4, "strides=[4], pads=[8,0]"),  // rows that no tap of the first phase meets
           std::string("input %x: f32[1x4x7]\nconst %w: f32[4x1x4]\n"
                       "%y = ConvTranspose(%x, %w) {strides=[4], group=2}\noutput %y\n"),
           std::string("input %x: f32[1x4x7]\ninput %w: f32[4x1x4]\n"
                       "%y = ConvTranspose(%x, %w) {strides=[4]}\noutput %y\n"),
           std::string("input %x: f32[1x4x7x7]\nconst %w: f32[4x1x4x4]\n"
                       "%y = ConvTranspose(%x, %w) {strides=[4,4]}\noutput %y\n"),
       }) {
    EXPECT_THAT(Ops(Rewrite(SpellTransposedLines, text)), HasSubstr("ConvTranspose")) << text;
  }
}

}  // namespace
}  // namespace fettle::passes
