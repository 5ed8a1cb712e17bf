// All passes together, on every case of every operator.
#include "passes/pipeline.h"

#include <gtest/gtest.h>

#include "equivalence.h"
#include "ops/cases.h"
#include "ops/op.h"
#include "passes/specialise.h"
#include "tests/case_printer.h"

namespace fettle::passes {
namespace {

class PipelineCases : public ::testing::TestWithParam<ops::Case> {};

/// Data-dependent and random cases have no result to compare, control operators no oracle.
bool HasOracle(const ir::Graph& graph) {
  for (const ir::Node& node : graph.nodes()) {
    if (node.op->Has(ir::Trait::kControl) || node.op->Has(ir::Trait::kRandom)) return false;
  }
  return true;
}

TEST_P(PipelineCases, KeepResults) {
  ir::NoiseHints hints;
  const Result<ir::Graph> before = ops::Parse(GetParam().graph, &hints);
  ASSERT_TRUE(before.ok()) << before.status().message();
  ir::Graph after = *before;
  ASSERT_TRUE(Optimise(after, {.verify = true}).ok());
  std::vector<Pending> pending;
  const Status specialised = Specialise(after, &pending, {.verify = true});
  ASSERT_TRUE(specialised.ok()) << specialised.message();
  for (size_t i = 0; i < before->outputs.size(); ++i)
    EXPECT_EQ(after.value(after.outputs[i]).name, before->value(before->outputs[i]).name);
  if (HasOracle(*before)) ExpectSameResults(*before, after, 2e-4, hints);
}

std::vector<ops::Case> QuickCases() {
  std::vector<ops::Case> cases;
  for (const ops::Case& one : ops::AllCases()) {
    if (!one.bench) cases.push_back(one);
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(AllCases, PipelineCases, ::testing::ValuesIn(QuickCases()),
                         [](const auto& info) {
                           std::string name(info.param.name);
                           for (char& c : name) c = std::isalnum(c) != 0 ? c : '_';
                           return name;
                         });

TEST(Pipeline, IsStable) {
  const char* text =
      "input %x: f32[1x4x8x8]\nconst %w: f32[4x4x3x3]\nconst %s: f32[4]\nconst %v: f32[4] = splat "
      "1\n"
      "%a = Conv(%x, %w) {pads=[1,1,1,1]}\n%b = BatchNormalization(%a, %s, %s, %s, %v)\n"
      "%c = Sigmoid(%b)\n%d = Mul(%b, %c)\n%y = Identity(%d)\noutput %y\n";
  ir::Graph graph = ParseGraph(text);
  ASSERT_TRUE(Optimise(graph, {.verify = true}).ok());
  EXPECT_EQ(Ops(graph), "Conv Swish");
  const std::string once = ir::Print(graph);
  ASSERT_TRUE(Optimise(graph, {.verify = true}).ok());
  EXPECT_EQ(ir::Print(graph), once);
}

TEST(Pipeline, OutputsKeepDeclaredExtents) {
  ir::Graph graph = ParseGraph("input %x: f32[?'n'x3]\n%y: f32[?'n'x3] = Relu(%x)\noutput %y\n");
  ASSERT_TRUE(Optimise(graph, {.verify = true}).ok());
  const ir::Value& output = graph.value(graph.outputs[0]);
  EXPECT_EQ(output.shape, (Shape{-1, 3}));
  EXPECT_EQ(output.symbols[0], "n");
}

}  // namespace
}  // namespace fettle::passes
