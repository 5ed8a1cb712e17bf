// Matrix products that sum nothing, as broadcasts.
#include "passes/rewrite/outer_products.h"

#include <fmt/format.h>

#include "equivalence.h"

namespace fettle::passes {
namespace {

std::string OpsOf(std::string_view a, std::string_view b, bool infer = true) {
  return Ops(Rewrite(
      OuterProductsToMul,
      fmt::format("input %a: {}\ninput %b: {}\n%y = MatMul(%a, %b)\noutput %y\n", a, b), infer));
}

TEST(OuterProducts, BecomeBroadcasts) {
  for (const auto& [a, b] : {std::pair("f32[3x1]", "f32[1x4]"),
                             {"f32[2x3x1]", "f32[2x1x4]"},
                             {"f32[2x1x3x1]", "f32[5x1x4]"},
                             {"f32[1x1]", "f32[2x1x1]"},
                             {"f32[0x1]", "f32[1x4]"},
                             {"i64[3x1]", "i64[1x4]"}})
    EXPECT_EQ(OpsOf(a, b), "Mul") << a << " " << b;
}

TEST(OuterProducts, NearMissesStay) {
  // Sums of two and of none, vectors, unknown shapes.
  for (const auto& [a, b] : {std::pair("f32[3x2]", "f32[2x4]"),
                             {"f32[3x0]", "f32[0x4]"},
                             {"f32[1]", "f32[1x4]"},
                             {"f32[3x1]", "f32[1]"}})
    EXPECT_EQ(OpsOf(a, b), "MatMul") << a << " " << b;
  EXPECT_EQ(OpsOf("f32[3x1]", "f32[1x4]", false), "Mul") << "inputs declare their shapes";
}

TEST(OuterProducts, WhatKernelsLookForStays) {
  // One key of attention, also behind a mask.
  constexpr std::string_view kAttention =
      "input %q: f32[2x3x1]\ninput %v: f32[2x1x4]\n{}%y = MatMul(%p, %v)\noutput %y\n";
  EXPECT_EQ(Ops(Rewrite(OuterProductsToMul, fmt::format(kAttention, "%p = Softmax(%q)\n"))),
            "Softmax MatMul");
  EXPECT_EQ(Ops(Rewrite(OuterProductsToMul,
                        fmt::format(kAttention, "%s = Softmax(%q)\n%p = Mul(%s, %s)\n"))),
            "Softmax Mul MatMul");
  EXPECT_EQ(Ops(Rewrite(OuterProductsToMul,
                        "input %q: i8[3x1]\ninput %v: f32[1x4]\nconst %s: f32[] = 0.5\n"
                        "%p = DequantizeLinear(%q, %s)\n%y = MatMul(%p, %v)\noutput %y\n")),
            "DequantizeLinear MatMul");
}

}  // namespace
}  // namespace fettle::passes
