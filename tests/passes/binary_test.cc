// Networks of two-valued tensors run on bits, to the same results bit for bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "binary_graphs.h"
#include "passes/specialise.h"

namespace fettle::passes {
namespace {

TEST(Binary, ConvolutionsOfSignsRunOnBits) {
  const std::string attributes[] = {
      "",
      "{pads=[1,1,1,1]}",
      "{pads=[1,0,2,1], strides=[2,3]}",
      "{pads=[2,2,2,2], dilations=[3,2]}",
      "{auto_pad=\"SAME_UPPER\", strides=[2,2]}",
  };
  for (const std::string& with : attributes) {
    for (int64_t channels : {1, 31, 33, 64, 127, 129}) {
      EXPECT_EQ(After(Signs(fmt::format("2x{}x8x7", channels)) +
                      Pair("w", fmt::format("3x{}x3x3", channels), 27 * channels) +
                      "%y = Conv(%s, %w) " + with + "\noutput %y\n"),
                "PackBits BinaryConv")
          << with;
    }
  }
}

TEST(Binary, GroupsLinesAndVolumes) {
  EXPECT_EQ(After(Signs("1x96x5x6") + Pair("w", "8x48x3x3", 3456) +
                  "%y = Conv(%s, %w) {group=2, pads=[1,1,1,1]}\noutput %y\n"),
            "PackBits BinaryConv");
  EXPECT_EQ(After(Signs("1x70x9") + Pair("w", "5x70x3", 1050) +
                  "%y = Conv(%s, %w) {pads=[1,1]}\noutput %y\n"),
            "PackBits BinaryConv");
  EXPECT_EQ(After(Signs("1x17x4x5x3") + Pair("w", "2x17x2x2x2", 272) +
                  "%y = Conv(%s, %w) {pads=[1,0,1,0,1,0]}\noutput %y\n"),
            "PackBits BinaryConv");
}

/// Values that join the graph meanwhile move the others, at one of these numbers of values.
TEST(Binary, BitsPassFlattensHoweverManyValuesThereAre) {
  std::string others;
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(After(others + Signs("2x48x1x1") + Pair("w", "48x16", 768) +
                    "%f = Flatten(%s)\n%y = MatMul(%f, %w)\noutput %y\n"),
              "PackBits Reshape BinaryMatMul");
    others += fmt::format("const %o{}: f32[] = 1.0\n", i);
  }
}

TEST(Binary, OtherPairsOfValues) {
  const std::string head =
      "input %x: f32[1x40x6x6]\nconst %t: f32[] = 0.25\nconst %two: f32[] = 2.0\n"
      "const %one: f32[] = 1.0\n%g = Less(%x, %t)\n%c = Cast(%g) {to=\"f32\"}\n";
  const std::string w = Pair("w", "6x40x3x3", 2160, -0.37, 0.37) +
                        Numbers("b", 6, [](int64_t i) { return 0.1 * double(i) - 0.3; });
  // {0, 1}, {-1, 1} as 2 c - 1, {2, 3}; weights with a scale, {0, w} and any two.
  EXPECT_EQ(After(head + w + "%y = Conv(%c, %w, %b) {pads=[1,1,1,1]}\noutput %y\n"),
            "PackBits BinaryConv");
  EXPECT_EQ(After(head + w +
                  "%d = Mul(%c, %two)\n%s = Sub(%d, %one)\n"
                  "%y = Conv(%s, %w, %b) {pads=[1,1,1,1]}\noutput %y\n"),
            "PackBits BinaryConv");
  EXPECT_EQ(After(head + Pair("w", "6x40x3x3", 2160, 0, 1) +
                  "%s = Add(%c, %two)\n%y = Conv(%s, %w) {pads=[1,1,1,1]}\noutput %y\n"),
            "PackBits BinaryConv");
  EXPECT_EQ(After(head + Pair("w", "6x40x3x3", 2160, 0.25, 7) +
                  "%y = Conv(%c, %w) {pads=[1,1,1,1]}\noutput %y\n"),
            "PackBits BinaryConv");
  EXPECT_EQ(After(head + Pair("w", "6x40x3x3", 2160, -0.5, 0) +
                  "%s = Neg(%c)\n%y = Conv(%s, %w)\noutput %y\n"),
            "PackBits BinaryConv");
  EXPECT_EQ(After(head + Pair("w", "6x40x3x3", 2160, 1, 1) + "%y = Conv(%c, %w)\noutput %y\n"),
            "PackBits BinaryConv");
}

TEST(Binary, Products) {
  EXPECT_EQ(After(Signs("5x129") + Pair("w", "129x7", 903) + "%y = MatMul(%s, %w)\noutput %y\n"),
            "PackBits BinaryMatMul");
  EXPECT_EQ(After(Signs("2x3x64") + Pair("w", "64x9", 576) + "%y = MatMul(%s, %w)\noutput %y\n"),
            "PackBits BinaryMatMul");
  EXPECT_EQ(After(Signs("3x784") + Pair("w", "11x784", 8624, -0.01, 0.01) +
                  Numbers("b", 11, [](int64_t i) { return 0.37 * double(i); }) +
                  "%y = Gemm(%s, %w, %b) {transB=1}\noutput %y\n"),
            "PackBits BinaryMatMul");
}

TEST(Binary, RefusesOtherChannelsThatShapesShowLate) {
  for (const char* x : {"%s", "%t"}) {
    // As many words, whatever the channels.
    ir::Graph graph = ParseGraph(
        "input %x: f32\nconst %zero: f32[] = 0.0\nconst %one: f32[] = 1.0\n"
        "const %minus: f32[] = -1.0\n%g = GreaterOrEqual(%x, %zero)\n"
        "%s = Where(%g, %one, %minus)\n%t = Sign(%x)\n" +
        Pair("w", "64x5", 320) + "%y = MatMul(" + x + ", %w)\noutput %y\n");
    EXPECT_TRUE(Binarise(graph).value());
    for (int64_t channels : {64, 18}) {
      ir::Graph concrete = graph;
      concrete.value(concrete.inputs[0]).shape = Shape{2, channels};
      EXPECT_EQ(Specialise(concrete).ok(), channels == 64) << x << " " << channels;
    }
  }
}

/// Batch normalisation with factors of each sign, and the sign of its results as %t.
std::string NormalisedSigns(int64_t channels) {
  return Numbers("gamma", channels,
                 [](int64_t i) { return i % 5 == 3 ? 0 : 1.1 - 0.3 * double(i % 9); }) +
         Numbers("beta", channels, [](int64_t i) { return 0.21 * double(i % 7) - 0.5; }) +
         Numbers("mean", channels, [](int64_t i) { return double(i % 11) - 5; }) +
         Numbers("var", channels, [](int64_t i) { return 3 + 17.5 * double(i % 4); }) +
         "%n = BatchNormalization(%c, %gamma, %beta, %mean, %var)\n"
         "%h = GreaterOrEqual(%n, %zero)\n%t = Where(%h, %one, %minus)\n";
}

TEST(Binary, ThresholdsLeaveBits) {
  for (std::string_view attributes : {"", "{pads=[1,1,1,1]}"}) {
    EXPECT_EQ(After(Signs("1x64x7x6") + Pair("w", "70x64x3x3", 40320) +
                    fmt::format("%c = Conv(%s, %w) {}\n", attributes) + NormalisedSigns(70) +
                    Pair("v", "5x70x3x3", 3150) + "%y = Conv(%t, %v)\noutput %y\n"),
              "PackBits BinaryConv BinaryConv");
  }
  EXPECT_EQ(
      After(Signs("4x100") + Pair("w", "100x40", 4000, -0.3, 0.3) + "%c = MatMul(%s, %w)\n" +
            NormalisedSigns(40) + Pair("v", "40x10", 400) + "%y = MatMul(%t, %v)\noutput %y\n"),
      "PackBits BinaryMatMul BinaryMatMul");
}

TEST(Binary, MaximaOfBits) {
  EXPECT_EQ(After(Signs("1x64x9x8") + Pair("w", "16x64x3x3", 9216) + "%c = Conv(%s, %w)\n" +
                  NormalisedSigns(16) +
                  "%m = MaxPool(%t) {kernel_shape=[2,2], strides=[2,2], pads=[1,0,0,1]}\n" +
                  Pair("v", "5x16x2x2", 320) + "%y = Conv(%m, %v)\noutput %y\n"),
            "PackBits BinaryConv BinaryMaxPool BinaryConv");
}

TEST(Binary, SignsThatMeetNoZero) {
  // 27 x 64 + 27 odd terms: never 0 without padding.
  EXPECT_EQ(
      After(Signs("1x3x7x6") + Pair("w", "8x3x3x3", 216) + "%c = Conv(%s, %w)\n%t = Sign(%c)\n" +
            Pair("v", "5x8x1x1", 40) + "%y = Conv(%t, %v)\noutput %y\n"),
      "PackBits BinaryConv BinaryConv");
  ir::Graph graph = ParseGraph(Signs("1x4x7x6") + Pair("w", "8x4x3x3", 288) +
                               "%c = Conv(%s, %w)\n%t = Sign(%c)\n" + Pair("v", "5x8x1x1", 40) +
                               "%y = Conv(%t, %v)\noutput %y\n");
  const std::vector<BinaryFact> facts = ListBinary(graph);
  EXPECT_THAT(facts.back().text, testing::HasSubstr("it is 0 where the sum of output 0 is 0"));
}

TEST(Binary, MovedAndPaddedSigns) {
  EXPECT_EQ(After(Signs("1x8x6x40") + "%p = Transpose(%s) {perm=[0,3,1,2]}\n" +
                  Pair("w", "3x40x3x3", 1080) + "%y = Conv(%p, %w)\noutput %y\n"),
            "GreaterOrEqual Where Transpose PackBits BinaryConv");
  EXPECT_EQ(After(Signs("1x40x6x8") +
                  "const %pads: i64[8] = 0 0 1 1 0 0 1 1\nconst %fill: f32[] = -1.0\n"
                  "%p = Pad(%s, %pads, %fill)\n%j = Concat(%p, %p) {axis=1}\n" +
                  Pair("w", "3x80x3x3", 2160) + "%y = Conv(%j, %w)\noutput %y\n"),
            "GreaterOrEqual Where Pad Concat PackBits BinaryConv");
}

TEST(Binary, PaddingWithASignIsTheConvolutions) {
  const std::string pads = "const %pads: i64[8] = 0 0 1 2 0 0 1 0\n";
  for (std::string_view fill : {"one", "minus"}) {
    const std::string pad = fmt::format("Pad(%s, %pads, %{})\n", fill);
    EXPECT_EQ(After(Signs("1x40x6x8") + pads + "%p = " + pad + Pair("w", "3x40x3x3", 1080) +
                    "%y = Conv(%p, %w) {strides=[2,1]}\noutput %y\n"),
              "PackBits BinaryConv")
        << fill;
    // Thresholds count the padding's terms.
    EXPECT_EQ(After(Signs("1x64x7x6") + pads + "%p = " + pad + Pair("w", "70x64x3x3", 40320) +
                    "%c = Conv(%p, %w)\n" + NormalisedSigns(70) +
                    fmt::format("%q = Pad(%t, %pads, %{})\n", fill) + Pair("v", "5x70x3x3", 3150) +
                    "%y = Conv(%q, %v)\noutput %y\n"),
              "PackBits BinaryConv BinaryConv")
        << fill;
  }
  // Both pad: the sum of an outer tap is not that of the Pad's.
  EXPECT_EQ(After(Signs("1x40x6x8") + pads + "%p = Pad(%s, %pads, %one)\n" +
                  Pair("w", "3x40x3x3", 1080) + "%y = Conv(%p, %w) {pads=[1,1,1,1]}\noutput %y\n"),
            "GreaterOrEqual Where Pad PackBits BinaryConv");
}

TEST(Binary, ReasonsNotTo) {
  const std::string w = Pair("w", "3x16x1x1", 48);
  using testing::HasSubstr;
  // Planes of 1 and -1 want weights -w and w.
  EXPECT_THAT(Why("input %x: f32[1x16x4x4]\n%s = Sign(%x)\n" + Pair("w", "3x16x1x1", 48, 0, 1) +
                  "%y = Conv(%s, %w)\noutput %y\n"),
              HasSubstr("weights have to be -w and w"));
  EXPECT_THAT(Why(Signs("1x16x4x4") + "%d = Sub(%s, %x)\n%e = Add(%d, %x)\n" + w +
                  "%y = Conv(%e, %w)\noutput %y\n"),
              HasSubstr("(a - b) + b is not a"));
  EXPECT_THAT(Why(Signs("1x16x4x4") +
                  "const %pads: i64[8] = 0 0 1 1 0 0 1 1\n"
                  "%p = Pad(%s, %pads)\n" +
                  w + "%y = Conv(%p, %w)\noutput %y\n"),
              HasSubstr("adds a third value"));
  EXPECT_THAT(Why(Signs("1x16x4x4") + "const %w: f32[3x16x1x1]\n%y = Conv(%s, %w)\noutput %y\n"),
              HasSubstr("have more than two values"));
  EXPECT_THAT(Why("input %x: f32[1x16x4x4]\n" + w + "%y = Conv(%x, %w)\noutput %y\n"),
              HasSubstr("an input of the graph; its weights are: adds by their bits"));
  EXPECT_THAT(
      Why("input %x: f32[1x16x4x4]\nconst %w: f32[3x16x1x1]\n%y = Conv(%x, %w)\noutput %y\n"),
      testing::EndsWith("an input of the graph"));
  EXPECT_THAT(Why(Signs("1x16x4x4") + "input %w: f32[3x16x1x1]\n%y = Conv(%s, %w)\noutput %y\n"),
              HasSubstr("weights are computed"));
  EXPECT_THAT(Why(Signs("1x16x4x4") + Pair("w", "16x1x3x3", 144) +
                  "%y = Conv(%s, %w) {group=16}\noutput %y\n"),
              HasSubstr("a group has 1 channels"));
  EXPECT_THAT(Why(Signs("1x16x4x4") + "const %tenth: f32[] = 0.1\n%q = Mul(%s, %tenth)\n" +
                  Pair("w", "3x16x1x1", 48, 0.1, 1e-9) + "%y = Conv(%q, %w)\noutput %y\n"),
              HasSubstr("may be rounded"));
}

TEST(Binary, ConstantsThatSpreadASign) {
  // One sign for each channel, spread over a plane by a constant of equal elements.
  EXPECT_EQ(After("input %x: f32[1x16x1x1]\nconst %zero: f32[] = 0.0\n"
                  "const %plane: f32[1x1x4x4] = splat 1.0\nconst %minus: f32[] = -1.0\n"
                  "%g = GreaterOrEqual(%x, %zero)\n%s = Where(%g, %plane, %minus)\n" +
                  Pair("w", "3x16x3x3", 432) + "%y = Conv(%s, %w)\noutput %y\n"),
            "GreaterOrEqual Where Conv");
}

TEST(Binary, TransposedConvolutionsAreOneForEachPhase) {
  const std::string tail = "output %y\n";
  EXPECT_EQ(After(Signs("1x16x5x6") + Pair("w", "16x5x3x3", 720, -0.3, 0.3) +
                  Numbers("b", 5, [](int64_t i) { return 0.37 * double(i) - 1; }) +
                  "%y = ConvTranspose(%s, %w, %b) {pads=[1,1,1,1]}\n" + tail),
            "PackBits BinaryConv");
  const std::string four =
      "PackBits BinaryConv BinaryConv BinaryConv BinaryConv Concat Reshape "
      "Transpose Reshape";
  for (std::string_view attributes :
       {"{strides=[2,2], pads=[1,1,1,1]}", "{strides=[2,2], pads=[0,1,0,1], dilations=[3,1]}"}) {
    EXPECT_EQ(After(Signs("2x40x5x6") + Pair("w", "40x3x4x4", 1920) +
                    fmt::format("%y = ConvTranspose(%s, %w) {}\n", attributes) + tail),
              four)
        << attributes;
  }
  EXPECT_EQ(After(Signs("1x32x4x5") + Pair("w", "32x6x3x3", 1728) +
                  "%y = ConvTranspose(%s, %w) {strides=[2,2], pads=[1,1,1,1], "
                  "output_padding=[1,1], group=2}\n" +
                  tail),
            four);
  EXPECT_EQ(After(Signs("1x20x9") + Pair("w", "20x4x6", 480) +
                  "%y = ConvTranspose(%s, %w) {strides=[3], pads=[2,1]}\n" + tail),
            "PackBits BinaryConv BinaryConv BinaryConv Concat Reshape Transpose Reshape");
  EXPECT_EQ(After(FewValues("1x16x5x6") + "%s = Sign(%x)\n" + Pair("w", "16x5x2x2", 320) +
                  "%y = ConvTranspose(%s, %w) {strides=[2,1]}\n" + tail),
            "Mul Round PackBits PackBits Concat BinaryConv BinaryConv Concat Reshape Transpose "
            "Reshape");
  using testing::HasSubstr;
  EXPECT_THAT(
      Why(Signs("1x16x5x6") + "const %w: f32[16x5x3x3]\n%y = ConvTranspose(%s, %w)\n" + tail),
      HasSubstr("more than two values"));
  EXPECT_THAT(Why(Signs("1x16x5x6") + Pair("w", "16x5x3x3", 720) +
                  "%y = ConvTranspose(%s, %w) {strides=[2,2]}\n" + tail),
              HasSubstr("not a multiple of its strides"));
  EXPECT_THAT(Why(Signs("1x16x5x6") + Pair("w", "16x5x1x1", 80) +
                  "%y = ConvTranspose(%s, %w) {strides=[2,2], output_padding=[1,1]}\n" + tail),
              HasSubstr("have no taps"));
}

}  // namespace
}  // namespace fettle::passes
