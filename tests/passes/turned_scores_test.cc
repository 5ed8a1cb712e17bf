// Attention over channels that lie before tokens.
#include "passes/find/turned_scores.h"

#include <gtest/gtest.h>

#include "equivalence.h"

namespace fettle::passes {
namespace {

/// Values of `x` times scores of [rows x rows] that are transposed by `perm`.
std::string Attention(std::string_view values, std::string_view scores, std::string_view perm,
                      std::string_view softmax = "axis=-1", std::string_view more = "") {
  return fmt::format(
      "input %v: f32[{}]\ninput %x: f32[{}]\n%s = Softmax(%x) {{{}}}\n"
      "%t = Transpose(%s) {{perm=[{}]}}\n%y = MatMul(%v, %t)\noutput %y\n{}",
      values, scores, softmax, perm, more);
}

std::string OpsAfter(const std::string& text) { return Ops(Rewrite(FindTurnedScores, text)); }

TEST(FindTurnedScores, TurnsTheSmallerSide) {
  EXPECT_EQ(OpsAfter(Attention("2x3x4x20", "2x3x20x20", "0,1,3,2")),
            "Softmax Transpose MatMul Transpose");
  EXPECT_EQ(OpsAfter(Attention("4x30", "20x30", "1,0", "axis=1")),
            "Softmax Transpose MatMul Transpose");
  // Values that all scores share, and those that bring axes of their own.
  EXPECT_EQ(OpsAfter(Attention("2x20", "3x20x20", "0,2,1")), "Softmax Transpose MatMul Transpose");
  EXPECT_EQ(OpsAfter(Attention("2x1x2x20", "3x20x20", "0,2,1")),
            "Softmax Transpose MatMul Transpose");
}

TEST(FindTurnedScores, LeavesNearMisses) {
  const std::string before = "Softmax Transpose MatMul";
  EXPECT_EQ(OpsAfter(Attention("2x3x40x20", "2x3x20x20", "0,1,3,2")), before);  // large values
  EXPECT_EQ(OpsAfter(Attention("2x4x20", "2x20x20", "0,2,1", "axis=1")), before);
  EXPECT_EQ(OpsAfter(Attention("20x4x20", "20x20x20", "2,1,0")), before);
  EXPECT_EQ(OpsAfter(Attention("4x20", "20x20", "1,0", "axis=-1", "output %s\n")), before);
  EXPECT_EQ(OpsAfter(Attention("4x20", "20x20", "1,0", "axis=-1", "output %t\n")), before);
}

}  // namespace
}  // namespace fettle::passes
