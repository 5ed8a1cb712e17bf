// Softmax over rows that may be nothing but -infinity, and attention whose scores are turned.
#include "passes/find/safe_softmax.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "equivalence.h"
#include "passes/find/turned_scores.h"
#include "passes/rewrite/scores_by_head.h"

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

/// Scores of two heads of three queries and five keys, with what is between them and the Softmax.
std::string ByHead(std::string_view factors, std::string_view rest) {
  return fmt::format(
      "input %q: f32[2x2x3x4]\ninput %k: f32[2x2x4x5]\ninput %v: f32[2x2x5x4]\n"
      "input %b: f32[1x2x3x5]\nconst %f: f32[{}\n%s = MatMul(%q, %k)\n{}",
      factors, rest);
}

constexpr std::string_view kBiased =
    "%m = Mul(%s, %f)\n%a = Add(%m, %b)\n%p = Softmax(%a)\n%y = MatMul(%p, %v)\noutput %y\n";

TEST(ScoresByHead, ScaleQueries) {
  EXPECT_EQ(Ops(Rewrite(ScaleQueriesByHead, ByHead("2x1x1] = 3 7", kBiased))),
            "Mul MatMul Add Softmax MatMul");
  EXPECT_EQ(
      Ops(Rewrite(ScaleQueriesByHead,
                  ByHead("1x2x1x1] = 3 7", "%m = Mul(%f, %s)\n%y = Softmax(%m)\noutput %y\n"))),
      "Mul MatMul Softmax");
}

TEST(ScoresByHead, AlmostTheSameStays) {
  const std::string_view scores = "MatMul Mul Add Softmax MatMul";
  // One factor, by query and by key.
  for (const char* factors : {"1x1x1] = 3", "3x1] = 1 2 3", "1x1x5] = 1 2 3 4 5"})
    EXPECT_EQ(Ops(Rewrite(ScaleQueriesByHead, ByHead(factors, kBiased))), scores) << factors;
  // Others read the scores or see them; no Softmax reads them; shapes are not known.
  for (const char* rest : {"%m = Mul(%s, %f)\n%p = Softmax(%m)\n%y = Add(%p, %s)\noutput %y\n",
                           "%m = Mul(%s, %f)\n%y = Softmax(%m)\noutput %y\noutput %s\n",
                           "%m = Mul(%s, %f)\n%y = Softmax(%m)\noutput %y\noutput %m\n",
                           "%m = Mul(%s, %f)\n%y = Relu(%m)\noutput %y\n"}) {
    const std::string ops = Ops(Rewrite(ScaleQueriesByHead, ByHead("2x1x1] = 3 7", rest)));
    EXPECT_THAT(ops, testing::StartsWith("MatMul Mul")) << rest;
  }
  EXPECT_EQ(Ops(Rewrite(ScaleQueriesByHead, ByHead("2x1x1] = 3 7", kBiased), false)), scores);
  // The left operand is as large as the scores, or one matrix for both heads.
  EXPECT_EQ(Ops(Rewrite(ScaleQueriesByHead,
                        "input %q: f32[2x3x5]\ninput %k: f32[2x5x5]\nconst %f: f32[2x1x1] = 3 7\n"
                        "%s = MatMul(%q, %k)\n%m = Mul(%s, %f)\n%y = Softmax(%m)\noutput %y\n")),
            "MatMul Mul Softmax");
  EXPECT_EQ(Ops(Rewrite(ScaleQueriesByHead,
                        "input %q: f32[1x3x4]\ninput %k: f32[2x4x5]\nconst %f: f32[2x1x1] = 3 7\n"
                        "%s = MatMul(%q, %k)\n%m = Mul(%s, %f)\n%y = Softmax(%m)\noutput %y\n")),
            "MatMul Mul Softmax");
}

}  // namespace
}  // namespace fettle::passes
