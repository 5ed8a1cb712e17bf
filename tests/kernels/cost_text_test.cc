#include "kernels/cost_text.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "ops/op.h"
#include "tests/parse_problem.h"

namespace fettle::kernels {
namespace {

std::string TextOf(const std::string& graph) {
  ir::Graph parsed = ops::Parse(graph).value();
  EXPECT_TRUE(ops::InferGraph(parsed).ok());
  return PrintCosts(parsed);
}

std::string Quantised(std::string_view scale, std::string_view zero_in, std::string_view zero_out) {
  return fmt::format(R"(input %x: u8[1x4x3x3]
const %s: f32[] = {}
const %i: u8[] = {}
const %o: u8[] = {}
%f = DequantizeLinear(%x, %s, %i)
%y = QuantizeLinear(%f, %s, %o)
output %y
)",
                     scale, zero_in, zero_out);
}

TEST(CostText, LayersThatDifferInWhatNoTimeDependsOnAreOne) {
  const std::string conv = R"(input %x: f32[1x2x4x4]
const %w: f32[2x2x1x1] = 1 2 3 4
const %b: f32[2] = {} 0.5
%y = Conv(%x, %w, %b)
output %y
)";
  EXPECT_EQ(TextOf(fmt::format(fmt::runtime(conv), 1)), TextOf(fmt::format(fmt::runtime(conv), 2)));
  // Whether two constants happen to be equal is no difference either.
  EXPECT_EQ(TextOf(Quantised("0.02", "3", "3")), TextOf(Quantised("0.5", "3", "9")));
}

TEST(CostText, WhatChangesTheWorkIsKept) {
  const std::string some = TextOf(Quantised("0.02", "3", "3"));
  EXPECT_NE(some, TextOf(Quantised("0.02", "0", "3")));
  EXPECT_NE(some, TextOf(Quantised("0.02", "128", "3")));
  EXPECT_NE(TextOf(Quantised("0.02", "0", "3")), TextOf(Quantised("0.02", "128", "3")));
  const std::string resize = R"(input %x: f32[1x1x2x2]
const %s: f32[4] = 1 1 {} 2
%y = Resize(%x, _, %s) {{mode="nearest"}}
output %y
)";
  EXPECT_NE(TextOf(fmt::format(fmt::runtime(resize), 2)),
            TextOf(fmt::format(fmt::runtime(resize), 3)));
  const std::string clip = "input %x: f32[4]\nconst %l: f32[] = {}\n%y = Clip(%x, %l)\noutput %y\n";
  EXPECT_NE(TextOf(fmt::format(fmt::runtime(clip), 0)), TextOf(fmt::format(fmt::runtime(clip), 1)));
}

TEST(CostText, IsAProblemsText) {
  ir::Graph graph = ops::Parse(Quantised("0.02", "3", "128")).value();
  ASSERT_TRUE(ops::InferGraph(graph).ok());
  const auto group = std::make_shared<const ir::Graph>(std::move(graph));
  const Problem problem{group, RowMajorStates(*group), 1};
  const std::string text = PrintProblem(problem, PrintCosts(*group));
  const Result<Problem> parsed = ParseProblem(text);
  ASSERT_TRUE(parsed.ok()) << parsed.status().message() << "\n" << text;
  EXPECT_EQ(PrintProblem(*parsed, PrintCosts(*parsed->group)), text);
}

}  // namespace
}  // namespace fettle::kernels
