// Softmax over rows that may be nothing but -infinity, and attention whose scores are turned.
#include "passes/find/safe_softmax.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "equivalence.h"
#include "passes/find/turned_scores.h"

namespace fettle::passes {
namespace {

/// Some rows of %l hold nothing but -infinity.
std::string Guarded(std::string_view rest) {
  return "input %x: f32[2x3x2]\nconst %zero: f32[] = 0\nconst %one: f32[] = 1\n%r = Relu(%x)\n"
         "%l = Log(%r)\n" +
         std::string(rest);
}

TEST(SafeSoftmax, IsOneNode) {
  for (const char* axis : {"-1", "0", "1"}) {
    const ir::Graph graph = Rewrite(
        FindSafeSoftmax, Guarded(fmt::format("%s = Softmax(%l) {{axis={}}}\n%n = IsNaN(%s)\n"
                                             "%y = Where(%n, %zero, %s)\noutput %y\n",
                                             axis)));
    ASSERT_EQ(Ops(graph), "Relu Log Softmax") << axis;
    EXPECT_EQ(graph.node(2).attributes.Int("nan_to_zero"), 1);
  }
}

TEST(SafeSoftmax, AlmostTheSameStays) {
  for (const char* rest : {
           "%s = Softmax(%l)\n%n = IsNaN(%s)\n%y = Where(%n, %one, %s)\noutput %y\n",
           "%s = Softmax(%l)\n%n = IsNaN(%s)\n%y = Where(%n, %s, %zero)\noutput %y\n",
           "%s = Softmax(%l)\n%n = IsNaN(%l)\n%y = Where(%n, %zero, %s)\noutput %y\n",
           "%s = LogSoftmax(%l)\n%n = IsNaN(%s)\n%y = Where(%n, %zero, %s)\noutput %y\n",
           "%s = Softmax(%l)\n%n = IsNaN(%s)\n%y = Where(%n, %zero, %s)\noutput %y\noutput %s\n",
           "%s = Softmax(%l)\n%n = IsNaN(%s)\n%y = Where(%n, %zero, %s)\noutput %y\noutput %n\n",
           "%s = Softmax(%l)\n%n = IsNaN(%s)\n%w = Where(%n, %zero, %s)\n%y = Add(%w, %s)\n"
           "output %y\n",
       }) {
    EXPECT_THAT(Ops(Rewrite(FindSafeSoftmax, Guarded(rest))), testing::HasSubstr("Where")) << rest;
  }
  const auto wider = Guarded(
      "const %zeros: f32[2x1x1x1] = 0 0\n%s = Softmax(%l)\n%n = IsNaN(%s)\n"
      "%y = Where(%n, %zeros, %s)\noutput %y\n");
  EXPECT_EQ(Ops(Rewrite(FindSafeSoftmax, wider)), "Relu Log Softmax IsNaN Where");
}

TEST(SafeSoftmax, IsFoundOnce) {
  const ir::Graph graph = Rewrite(
      FindSafeSoftmax,
      Guarded("%s = Softmax(%l) {nan_to_zero=1}\n%n = IsNaN(%s)\n%y = Where(%n, %zero, %s)\n"
              "output %y\n"));
  EXPECT_EQ(Ops(graph), "Relu Log Softmax IsNaN Where");
}

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
