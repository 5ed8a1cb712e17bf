// What counts as a sign: those that may be zero, lenient ones, estimators that cancel, rounded
// numbers, and numbers that are none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "binary_graphs.h"
#include "passes/binary/lenient_signs.h"

namespace fettle::passes {
namespace {

/// Inputs of few values, 0 among them.
std::string FewValues(std::string_view shape) {
  return fmt::format(
      "input %u: f32[{}]\nconst %two: f32[] = 2.0\n%m = Mul(%u, %two)\n%x = Round(%m)\n", shape);
}

TEST(Binary, SignsThatMayBeZeroAreTwoPlanesOfEachGroup) {
  for (int64_t channels : {16, 33, 64, 70}) {
    EXPECT_EQ(After(FewValues(fmt::format("2x{}x6x7", 3 * channels)) + "%s = Sign(%x)\n" +
                    Pair("w", fmt::format("6x{}x3x3", channels), 54 * channels, -0.3, 0.3) +
                    "%y = Conv(%s, %w) {group=3, pads=[1,0,1,1]}\noutput %y\n"),
              "Mul Round PackBits PackBits Reshape Reshape Concat Reshape BinaryConv")
        << channels;
  }
}

TEST(Binary, SignsThatMayBeZeroAreTwoPlanes) {
  for (std::string_view attributes : {"", "{pads=[1,1,1,1]}", "{pads=[2,0,1,1], strides=[2,1]}"}) {
    for (int64_t channels : {1, 33, 64, 70}) {
      EXPECT_EQ(After(FewValues(fmt::format("2x{}x6x7", channels)) + "%s = Sign(%x)\n" +
                      Pair("w", fmt::format("5x{}x3x3", channels), 45 * channels, -0.3, 0.3) +
                      Numbers("b", 5, [](int64_t i) { return 0.37 * double(i) - 1; }) +
                      fmt::format("%y = Conv(%s, %w, %b) {}\noutput %y\n", attributes)),
                "Mul Round PackBits PackBits Concat BinaryConv");
    }
  }
  EXPECT_EQ(After(FewValues("4x100") + "%s = Sign(%x)\n" + Pair("w", "100x7", 700) +
                  "%y = MatMul(%s, %w)\noutput %y\n"),
            "Mul Round PackBits PackBits Concat BinaryMatMul");
  // Two readers pack once; a sum that may be 0 is such a sign, too.
  EXPECT_EQ(After(FewValues("1x16x5x5") + "%s = Sign(%x)\n" + Pair("w", "24x16x3x3", 3456) +
                  Pair("v", "24x16x3x3", 3456, -0.5, 0.5) + Pair("q", "3x24x1x1", 72) +
                  "%a = Conv(%s, %w)\n%b = Conv(%s, %v)\n%c = Sign(%a)\n%d = Conv(%c, %q)\n"
                  "output %b\noutput %d\n"),
            "Mul Round PackBits PackBits Concat BinaryConv BinaryConv PackBits PackBits Concat "
            "BinaryConv");
}

TEST(Binary, LenientSignsAreTheirComparison) {
  const std::string text = FewValues("1x16x5x5") + "%s = Sign(%x)\n" +
                           Pair("w", "4x16x3x3", 576, 0, 1) +
                           "%y = Conv(%s, %w) {pads=[1,1,1,1]}\noutput %y\n";
  ir::Graph lenient = ParseGraph(text);
  ASSERT_TRUE(ops::InferGraph(lenient).ok());
  ASSERT_TRUE(MakeSignsLenient(lenient).value());
  const ir::Graph said = ParseGraph(
      FewValues("1x16x5x5") +
      "const %zero: f32[] = 0.0\nconst %one: f32[] = 1.0\nconst %minus: f32[] = -1.0\n"
      "%g = GreaterOrEqual(%x, %zero)\n%s = Where(%g, %one, %minus)\n" +
      Pair("w", "4x16x3x3", 576, 0, 1) + "%y = Conv(%s, %w) {pads=[1,1,1,1]}\noutput %y\n");
  ExpectSameResults(said, lenient, 0);
  ASSERT_TRUE(Binarise(lenient).value());
  ExpectSameResults(said, lenient, 0);
  EXPECT_EQ(Ops(lenient), "Mul Round PackBits BinaryConv");
  EXPECT_THAT(ListBinary(lenient).back().text, testing::StartsWith("lenient, Sign(0) is 1"));
  // Nothing that bits do not need is touched.
  ir::Graph other = ParseGraph("input %x: f32[1x16x5x5]\n%y = Sign(%x)\noutput %y\n");
  EXPECT_FALSE(MakeSignsLenient(other).value());
}

TEST(Binary, EstimatorsThatCancelExactly) {
  const std::string w = Pair("w", "3x16x3x3", 432);
  const std::string tail = "%d = Sub(%s, %c)\n%e = Add(%d, %c)\n" + w +
                           "%y = Conv(%e, %w) {pads=[1,1,1,1]}\noutput %y\n";
  const std::string clip =
      "const %lo: f32[] = -1.0\nconst %hi: f32[] = 1.0\n%c = Clip(%x, %lo, %hi)\n";
  EXPECT_EQ(After(Signs("1x16x5x6") + clip + tail), "PackBits BinaryConv");
  EXPECT_EQ(After(Signs("1x16x5x6") + "%c = Tanh(%x)\n" + tail), "PackBits BinaryConv");
  EXPECT_EQ(After(FewValues("1x16x5x6") + "%s = Sign(%x)\n" + clip + tail),
            "Mul Round PackBits PackBits Concat BinaryConv");
  // The sign of what was clipped, and the sum the other way round.
  EXPECT_EQ(After("input %u: f32[1x16x5x6]\nconst %lo: f32[] = -1.5\nconst %hi: f32[] = 2.0\n"
                  "const %zero: f32[] = 0.0\nconst %one: f32[] = 1.0\n"
                  "const %minus: f32[] = -1.0\n%c = Clip(%u, %lo, %hi)\n"
                  "%g = Less(%c, %zero)\n%s = Where(%g, %minus, %one)\n"
                  "%d = Sub(%s, %c)\n%e = Add(%c, %d)\n" +
                  w + "%y = Conv(%e, %w)\noutput %y\n"),
            "Clip PackBits BinaryConv");
  // Of numbers of any size, or that have another sign, it rounds.
  EXPECT_THAT(
      Why(Signs("1x16x5x6") +
          "const %lo: f32[] = -1.0\nconst %hi: f32[] = 3.0\n%c = Clip(%x, %lo, %hi)\n" + tail),
      testing::HasSubstr("(a - b) + b is not a"));
  EXPECT_THAT(Why(Signs("1x16x5x6") + "input %v: f32[1x16x5x6]\n%c = Tanh(%v)\n" + tail),
              testing::HasSubstr("(a - b) + b is not a"));
}

/// Liu et al.'s polynomial (Bi-Real Net, ReActNet) as PyTorch exports it: masks of floats, and what
/// it has above -1 times `slope`.
std::string Polynomial(double slope) {
  return fmt::format(
             "const %low: f32[] = -1.0\nconst %top: f32[] = 1.0\nconst %nil: f32[] = 0.0\n"
             "const %slope: f32[] = {}\n",
             slope) +
         "%l1 = Less(%x, %low)\n%m1 = Cast(%l1) {to=\"f32\"}\n%l2 = Less(%x, %nil)\n"
         "%m2 = Cast(%l2) {to=\"f32\"}\n%l3 = Less(%x, %top)\n%m3 = Cast(%l3) {to=\"f32\"}\n"
         "%n1 = Sub(%top, %m1)\n%n2 = Sub(%top, %m2)\n%n3 = Sub(%top, %m3)\n"
         "%square = Mul(%x, %x)\n%twice = Mul(%x, %slope)\n%left = Add(%square, %twice)\n"
         "%neg = Neg(%x)\n%fall = Mul(%neg, %x)\n%right = Add(%fall, %twice)\n"
         "%a1 = Mul(%m1, %low)\n%b1 = Mul(%left, %n1)\n%o1 = Add(%a1, %b1)\n"
         "%a2 = Mul(%o1, %m2)\n%b2 = Mul(%right, %n2)\n%o2 = Add(%a2, %b2)\n"
         "%a3 = Mul(%o2, %m3)\n%b3 = Mul(%n3, %top)\n%c = Add(%a3, %b3)\n"
         "%d = Sub(%s, %c)\n%e = Add(%d, %c)\n";
}

TEST(Binary, EstimatorsOfPolynomialsCancelExactly) {
  const std::string conv =
      Pair("w", "3x16x3x3", 432) + "%y = Conv(%e, %w) {pads=[1,1,1,1]}\noutput %y\n";
  EXPECT_EQ(After(Signs("1x16x5x6") + Polynomial(2) + conv), "PackBits BinaryConv");
  EXPECT_EQ(After(FewValues("1x16x5x6") + "%s = Sign(%x)\n" + Polynomial(2) + conv),
            "Mul Round PackBits PackBits Concat BinaryConv");
  // x^2 + x / 2 is above 0 below -1 / 2, 5 x is above 2.
  for (double slope : {0.5, 5.0}) {
    EXPECT_THAT(Why(Signs("1x16x5x6") + Polynomial(slope) + conv),
                testing::HasSubstr("(a - b) + b is not a"))
        << slope;
  }
}

TEST(Binary, EstimatorsCancelForAllNumbers) {
  // Each float of few bits, around each power of two that Clip lets through.
  for (int exponent = -149; exponent <= 0; ++exponent) {
    for (uint32_t digits = 0; digits < 4096; ++digits) {
      const float c =
          std::ldexp(1.0F + std::ldexp(static_cast<float>(digits * 2047), -23), exponent);
      const volatile float above = 1.0F - c, below = -1.0F + c;
      ASSERT_EQ(above + c, 1.0F) << c;
      ASSERT_EQ(below - c, -1.0F) << c;
    }
  }
}

TEST(Binary, RoundedBoundedNumbers) {
  const std::string w = Pair("w", "3x16x3x3", 432);
  const std::string conv = w + "%y = Conv(%s, %w) {pads=[1,1,1,1]}\noutput %y\n";
  const std::string clip =
      "input %x: f32[1x16x5x6]\nconst %lo: f32[] = 0.0\nconst %hi: f32[] = 1.0\n";
  // DoReFa's activations, a fake quantiser of two levels, the sign of what is not negative.
  EXPECT_EQ(After(clip + "%c = Clip(%x, %lo, %hi)\n%s = Round(%c)\n" + conv),
            "Clip Round PackBits BinaryConv");
  EXPECT_EQ(After(clip + "%r = Relu(%x)\n%s = Sign(%r)\n" + conv), "Relu Sign PackBits BinaryConv");
  EXPECT_EQ(After("input %x: f32[1x16x5x6]\nconst %lo: f32[] = -0.7\nconst %hi: f32[] = 0.9\n"
                  "const %span: f32[] = 1.6\n%a = Max(%x, %lo)\n%b = Min(%a, %hi)\n"
                  "%d = Sub(%b, %lo)\n%e = Div(%d, %span)\n%r = Round(%e)\n"
                  "%m = Mul(%r, %span)\n%s = Add(%m, %lo)\n" +
                  conv),
            "Max Min Sub Div Round Mul Add PackBits BinaryConv");
  EXPECT_THAT(
      Why(clip + "const %two: f32[] = 2.0\n%c = Clip(%x, %lo, %two)\n%s = Round(%c)\n" + conv),
      testing::HasSubstr("gives many values"));
}

/// Zeros of both signs, numbers that are none, the smallest ones, and infinities.
TEST(Binary, StrangeNumbers) {
  const float kNone = std::numeric_limits<float>::quiet_NaN();
  const float kLeast = std::numeric_limits<float>::denorm_min();
  const std::vector<float> strange = {0.0F,   -0.0F,   kNone,    -kNone,
                                      kLeast, -kLeast, INFINITY, -INFINITY};
  for (std::string_view op : {"GreaterOrEqual", "Greater", "LessOrEqual", "Less"}) {
    for (std::string_view values : {"%one, %minus", "%minus, %one"}) {
      const ir::Graph before = ParseGraph(
          fmt::format("input %x: f32[8x70]\nconst %zero: f32[] = 0.0\nconst %one: f32[] = 1.0\n"
                      "const %minus: f32[] = -1.0\n%g = {}(%x, %zero)\n%s = Where(%g, {})\n{}"
                      "%y = MatMul(%s, %w)\noutput %y\n",
                      op, values, Pair("w", "70x5", 350)));
      ir::Graph after = before;
      ASSERT_TRUE(ops::InferGraph(after).ok());
      ASSERT_TRUE(Binarise(after).value());
      std::vector<float> x(560);
      for (size_t i = 0; i < x.size(); ++i) x[i] = strange[(i + i / 70) % strange.size()];
      const std::vector<Tensor> inputs = {Tensor::FromVector(Shape{8, 70}, x).value()};
      const auto want = ops::EvaluateGraph(before, inputs), got = ops::EvaluateGraph(after, inputs);
      ASSERT_TRUE(want.ok() && got.ok());
      for (int64_t i = 0; i < 40; ++i)
        EXPECT_EQ((*got)[0].as<float>()[i], (*want)[0].as<float>()[i]) << op << values << i;
    }
  }
}

}  // namespace
}  // namespace fettle::passes
