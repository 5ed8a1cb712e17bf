// Operators and types that kernels do not compute as they are, in steps that kernels do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "equivalence.h"
#include "passes/rewrite/bias_apart.h"
#include "passes/rewrite/constant_left.h"
#include "passes/rewrite/spell_doubles.h"
#include "passes/rewrite/spell_nearest.h"

namespace fettle::passes {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string Doubles(std::string_view op, std::string_view attributes,
                    std::string_view operands = "", std::string_view constants = "") {
  const std::string text = fmt::format("input %x: f64[2x6x5]\n{}%y = {}(%x{}) {{{}}}\noutput %y\n",
                                       constants, op, operands, attributes);
  return Ops(Rewrite(SpellDoubles, text, true, 1e-12));
}

TEST(SpellDoubles, KeepsWhatOperatorsCompute) {
  for (const char* axis : {"axis=0", "axis=1", "axis=-1", ""}) {
    SCOPED_TRACE(axis);
    EXPECT_EQ(Doubles("Softmax", axis), "ReduceMax Sub Exp ReduceSum Div");
    EXPECT_EQ(Doubles("LogSoftmax", axis), "ReduceMax Sub Exp ReduceSum Log Sub");
  }
  const char* scale = "const %s: f64[6x5]\nconst %b: f64[6x5]\n";
  EXPECT_THAT(Doubles("LayerNormalization", "axis=1", ", %s, %b", scale),
              Not(HasSubstr("LayerNormalization")));
  EXPECT_THAT(Doubles("LayerNormalization", "axis=-2, epsilon=0.1", ", %s", scale),
              Not(HasSubstr("LayerNormalization")));
  const char* channels =
      "const %s: f64[6]\nconst %b: f64[6]\nconst %m: f64[6]\nconst %v: f64[6] = noise(0.5, 2)\n";
  EXPECT_THAT(Doubles("BatchNormalization", "epsilon=0.01", ", %s, %b, %m, %v", channels),
              Not(HasSubstr("BatchNormalization")));
}

TEST(SpellDoubles, FindsWhatIsNoNumber) {
  const char* text =
      "const %c: f64[4] = 1 inf -inf nan\ninput %x: f64[4]\n%z = Add(%c, %x)\n%y = {}(%z) "
      "{{{}}}\noutput %y\n";
  EXPECT_EQ(Ops(Rewrite(SpellDoubles, fmt::format(fmt::runtime(text), "IsNaN", ""))),
            "Add Equal Not");
  for (const char* signs : {"", "detect_positive=0", "detect_negative=0"}) {
    EXPECT_THAT(Ops(Rewrite(SpellDoubles, fmt::format(fmt::runtime(text), "IsInf", signs))),
                HasSubstr("Equal"));
  }
}

TEST(SpellNearest, GathersOfEachAxis) {
  const auto spelt = [](std::string_view type, std::string_view attributes) {
    return Ops(
        Rewrite(SpellNearest, fmt::format("input %x: {}[1x2x5x7]\nconst %s: i64[4] = 1 2 8 21\n"
                                          "%y = Resize(%x, _, _, %s) {{{}}}\noutput %y\n",
                                          type, attributes)));
  };
  for (const char* type : {"i32", "i64", "bool", "f64"}) {
    for (const char* how : {"",
                            "coordinate_transformation_mode=\"asymmetric\", "
                            "nearest_mode=\"floor\"",
                            "coordinate_transformation_mode=\"align_corners\""}) {
      EXPECT_EQ(spelt(type, how), "Gather Gather Identity");
    }
  }
  EXPECT_EQ(spelt("f32", ""), "Resize");
  EXPECT_EQ(spelt("i32", "mode=\"linear\""), "Resize");
}

std::string Apart(std::string_view weights, std::string_view bias, std::string_view op) {
  return Ops(Rewrite(AddBiasApart, fmt::format("input %x: f32[2x4x9x9]\n{} %w: f32[4x4x3x3]\n"
                                               "{} %b: f32[4]\n%y = {}(%x, %w, %b) "
                                               "{{strides=[2,2]}}\noutput %y\n",
                                               weights, bias, op)));
}

TEST(BiasApart, TakesOneConstantOfTwo) {
  for (const char* op : {"Conv", "ConvTranspose"}) {
    EXPECT_EQ(Apart("input", "const", op), "Reshape " + std::string(op) + " Add");
    EXPECT_EQ(Apart("const", "input", op), "Reshape " + std::string(op) + " Add");
    EXPECT_EQ(Apart("const", "const", op), op);
    EXPECT_EQ(Apart("input", "input", op), op);
  }
}

std::string GemmOf(std::string_view a, std::string_view b, std::string_view bias,
                   std::string_view shape, std::string_view attributes = "") {
  return fmt::format(
      "{} %a: f32[5x7]\n{} %b: f32[7x6]\n{} %c: f32[{}]\n%y = Gemm(%a, %b, %c) {{{}}}\n"
      "output %y\n",
      a, b, bias, shape, attributes);
}

TEST(BiasApart, TakesWhatAGemmDoesNotPack) {
  const auto apart = [](const std::string& text) { return Ops(Rewrite(AddBiasApart, text)); };
  for (const char* shape : {"6", "1x6", "1", "5x1", "5x6"}) {
    SCOPED_TRACE(shape);
    EXPECT_EQ(apart(GemmOf("input", "input", "const", shape)), "Gemm Add");
    EXPECT_EQ(apart(GemmOf("const", "input", "input", shape)), "Gemm Add");
    EXPECT_EQ(apart(GemmOf("input", "input", "input", shape)), "Gemm");
  }
  EXPECT_EQ(apart(GemmOf("input", "const", "const", "6")), "Gemm");
  EXPECT_EQ(apart(GemmOf("input", "const", "const", "5x1")), "Gemm Add");
  EXPECT_EQ(apart(GemmOf("input", "input", "const", "6", "alpha=0.5, beta=3.0")), "Mul Gemm Add");
  EXPECT_EQ(apart(GemmOf("input", "input", "const", "6", "beta=0.0")), "Mul Gemm Add");
}

TEST(ConstantLeft, SwapsAGemm) {
  for (const int64_t a : {0, 1}) {
    for (const int64_t b : {0, 1}) {
      const std::string text = fmt::format(
          "const %a: f32[{}]\ninput %b: f32[{}]\n%y = Gemm(%a, %b) {{alpha=0.5, transA={}, "
          "transB={}}}\noutput %y\n",
          a != 0 ? "7x5" : "5x7", b != 0 ? "6x7" : "7x6", a, b);
      EXPECT_EQ(Ops(Rewrite(SwapConstantLeft, text)), "Gemm Transpose");
    }
  }
  EXPECT_EQ(Ops(Rewrite(SwapConstantLeft, GemmOf("const", "input", "input", "6"))), "Gemm");
  EXPECT_EQ(Ops(Rewrite(SwapConstantLeft, GemmOf("input", "input", "input", "6"))), "Gemm");
}

}  // namespace
}  // namespace fettle::passes
