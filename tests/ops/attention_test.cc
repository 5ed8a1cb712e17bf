// Attention and rotary embedding against the same sums in primitive operators.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tensor/compare.h"
#include "tests/ops/evaluate_text.h"

namespace fettle::ops {
namespace {

/// Both outputs of a graph agree.
void ExpectAgree(std::string_view text) {
  const std::vector<Tensor> outputs = EvaluateText(text);
  ASSERT_EQ(outputs.size(), 2u);
  ASSERT_EQ(outputs[0].shape(), outputs[1].shape());
  const Difference difference =
      Compare(outputs[0].view(), outputs[1].view(), {.atol = 1e-5, .rtol = 1e-5});
  EXPECT_TRUE(difference.ok()) << difference.ToString(outputs[0].shape());
}

TEST(Attention, IsSoftmaxOfScaledProducts) {
  ExpectAgree(
      "const %q: f32[2x3x5x4]\nconst %k: f32[2x3x7x4]\nconst %v: f32[2x3x7x6]\n"
      "const %m: f32[5x7]\nconst %half: f32[] = 0.5\n"
      "%y = Attention(%q, %k, %v, %m)\n"
      "%kt = Einsum(%k) {equation=\"...ij->...ji\"}\n%qk = MatMul(%q, %kt)\n"
      "%scaled = Mul(%qk, %half)\n%masked = Add(%scaled, %m)\n%p = Softmax(%masked)\n"
      "%want = MatMul(%p, %v)\noutput %y\noutput %want\n");
}

TEST(Attention, NegativeSoftcapsAreNone) {
  for (const std::string_view op : {"", ", softcap=0.0"}) {
    ExpectAgree(
        fmt::format("const %q: f32[1x2x3x4]\nconst %k: f32[1x2x5x4]\nconst %v: f32[1x2x5x4]\n"
                    "%y = Attention(%q, %k, %v) {{scale=2.0, softcap=-2.0}}\n"
                    "%want = Attention(%q, %k, %v) {{scale=2.0{}}}\noutput %y\noutput %want\n",
                    op));
  }
}

TEST(Attention, ShowsScoresOfValuesWithoutElements) {
  ExpectAgree(
      "const %q: f32[1x2x3x4]\nconst %k: f32[1x2x5x4]\nconst %v: f32[1x2x5x0]\n"
      "const %w: f32[1x2x5x1]\n"
      "%y, %nk, %nv, %s = Attention(%q, %k, %v) {qk_matmul_output_mode=3}\n"
      "%z, %mk, %mv, %want = Attention(%q, %k, %w) {qk_matmul_output_mode=3}\n"
      "output %s\noutput %want\n");
}

TEST(Attention, GroupsOfQueriesShareKeys) {
  // Heads 0-2 read key head 0 and heads 3-5 key head 1: the same as keys repeated threefold.
  ExpectAgree(
      "const %q: f32[1x6x2x4]\nconst %k0: f32[1x1x3x4]\nconst %k1: f32[1x1x3x4]\n"
      "const %v0: f32[1x1x3x4]\nconst %v1: f32[1x1x3x4]\n"
      "%k = Concat(%k0, %k1) {axis=1}\n%v = Concat(%v0, %v1) {axis=1}\n"
      "%y = Attention(%q, %k, %v)\n"
      "%kr = Concat(%k0, %k0, %k0, %k1, %k1, %k1) {axis=1}\n"
      "%vr = Concat(%v0, %v0, %v0, %v1, %v1, %v1) {axis=1}\n"
      "%want = Attention(%q, %kr, %vr)\noutput %y\noutput %want\n");
}

TEST(Attention, PackedHeadsAreThoseOfRank4) {
  ExpectAgree(
      "const %q: f32[2x5x12]\nconst %k: f32[2x7x12]\nconst %v: f32[2x7x12]\n"
      "const %s: i64[4] = 0 0 3 4\nconst %flat: i64[3] = 0 0 -1\n"
      "%y = Attention(%q, %k, %v) {kv_num_heads=3, q_num_heads=3}\n"
      "%q4 = Reshape(%q, %s)\n%k4 = Reshape(%k, %s)\n%v4 = Reshape(%v, %s)\n"
      "%qt = Transpose(%q4) {perm=[0,2,1,3]}\n%kt = Transpose(%k4) {perm=[0,2,1,3]}\n"
      "%vt = Transpose(%v4) {perm=[0,2,1,3]}\n%a = Attention(%qt, %kt, %vt)\n"
      "%at = Transpose(%a) {perm=[0,2,1,3]}\n%want = Reshape(%at, %flat)\n"
      "output %y\noutput %want\n");
}

TEST(Attention, PastComesBeforeTheCausalLine) {
  // The one new query sees all past keys and itself.
  ExpectAgree(
      "const %q: f32[1x1x1x4]\nconst %k: f32[1x1x1x4]\nconst %v: f32[1x1x1x4]\n"
      "const %pk: f32[1x1x3x4]\nconst %pv: f32[1x1x3x4]\n"
      "%y = Attention(%q, %k, %v, _, %pk, %pv) {is_causal=1}\n"
      "%ak = Concat(%pk, %k) {axis=2}\n%av = Concat(%pv, %v) {axis=2}\n"
      "%want = Attention(%q, %ak, %av)\noutput %y\noutput %want\n");
}

TEST(Attention, QueriesThatSeeNothingGiveZeros) {
  EXPECT_THAT(ElementsOf("const %q: f32[1x1x2x1]\nconst %k: f32[1x1x2x1]\nconst %v: f32[1x1x2x1] = "
                         "2.0 4.0\nconst %m: bool[2x2] = 0 0 0 1\n%y = Attention(%q, %k, %v, %m)\n"
                         "output %y\n"),
              ::testing::ElementsAre(0, 4));
}

TEST(RotaryEmbedding, TurnsPairs) {
  // A quarter turn takes (x, y) to (-y, x); halves pair (0, 2) and (1, 3).
  EXPECT_THAT(
      ElementsOf("const %x: f32[1x1x1x4] = 1.0 2.0 3.0 4.0\nconst %c: f32[1x1x2] = 0.0 1.0\n"
                 "const %s: f32[1x1x2] = 1.0 0.0\n%y = RotaryEmbedding(%x, %c, %s)\n"
                 "output %y\n"),
      ::testing::ElementsAre(-3, 2, 1, 4));
  EXPECT_THAT(
      ElementsOf("const %x: f32[1x1x1x4] = 1.0 2.0 3.0 4.0\nconst %c: f32[1x1x2] = 0.0 1.0\n"
                 "const %s: f32[1x1x2] = 1.0 0.0\n"
                 "%y = RotaryEmbedding(%x, %c, %s) {interleaved=1}\noutput %y\n"),
      ::testing::ElementsAre(-2, 1, 3, 4));
}

}  // namespace
}  // namespace fettle::ops
