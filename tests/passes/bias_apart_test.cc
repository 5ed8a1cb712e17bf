// Biases that kernels do not take with the weights, and constants left of computed matrices.
#include "passes/rewrite/bias_apart.h"

#include <gtest/gtest.h>

#include "equivalence.h"
#include "passes/rewrite/constant_left.h"

namespace fettle::passes {
namespace {

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
