#include <gtest/gtest.h>

#include "ir/text.h"
#include "kernels/params_text.h"
#include "tests/parse_problem.h"

namespace fettle::kernels {
namespace {

Problem MakeProblem(std::string_view text) {
  ir::Graph graph = ops::Parse(text).value();
  EXPECT_TRUE(ops::InferGraph(graph).ok());
  Problem problem{.group = std::make_shared<ir::Graph>(std::move(graph)), .threads = 2};
  problem.states = RowMajorStates(*problem.group);
  return problem;
}

TEST(ProblemText, RoundTrips) {
  Problem problem = MakeProblem(
      "input %x: f32[1x8x5x6]\nconst %w: f32[4x8x3x3]\n%c = Conv(%x, %w) {pads=[1,1,1,1]}\n"
      "%y = Relu(%c)\noutput %y\n");
  problem.states.inputs[0].layout = Layout::ChannelsLast(4);
  problem.states.outputs[0].layout = Layout{.blocks = {{1, 8}}};
  problem.states.outputs[0].external = true;
  const std::string text = PrintProblem(problem);
  const Result<Problem> parsed = ParseProblem(text);
  ASSERT_TRUE(parsed.ok()) << parsed.status().message() << "\n" << text;
  EXPECT_EQ(parsed->threads, 2);
  EXPECT_EQ(parsed->states, problem.states);
  EXPECT_EQ(PrintProblem(*parsed), text);
}

TEST(ProblemText, DoesNotDependOnNames) {
  const Problem a = MakeProblem("input %x: f32[3]\n%t = Exp(%x)\n%y = Neg(%t)\noutput %y\n");
  const Problem b = MakeProblem("input %q: f32[3]\n%u = Exp(%q)\n%v = Neg(%u)\noutput %v\n");
  EXPECT_EQ(PrintProblem(a), PrintProblem(b));
}

TEST(ProblemText, RefusesWhatItDidNotPrint) {
  const std::string good = PrintProblem(MakeProblem("input %x: f32[3]\n%y = Exp(%x)\noutput %y\n"));
  EXPECT_FALSE(ParseProblem("").ok());
  EXPECT_FALSE(ParseProblem("threads 0\n" + good.substr(good.find('\n') + 1)).ok());
  EXPECT_FALSE(ParseProblem(good.substr(good.find('\n') + 1)).ok());
  std::string missing = good;
  missing.erase(missing.find("cpu:host:row:f32"), 16);
  EXPECT_FALSE(ParseProblem(missing).ok());
}

TEST(ParamsText, IsReadBackAlsoWithSpaces) {
  const Params params = {{"columns", 8}, {"rows", -4}};
  EXPECT_EQ(PrintParams(params), "columns=8,rows=-4");
  EXPECT_EQ(ParseParams("columns=8,rows=-4"), params);
  EXPECT_EQ(ParseParams("columns=8 rows=-4"), params);
  EXPECT_EQ(ParseParams(""), Params());
  for (const char* bad : {"columns", "=8", "columns=", "columns=8x", "columns=8,,rows=4"})
    EXPECT_FALSE(ParseParams(bad)) << bad;
}

}  // namespace
}  // namespace fettle::kernels
