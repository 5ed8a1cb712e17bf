// Every case, planned and run as a whole graph, agrees with the oracle: cover, states, conversions,
// memory and programs together.
#include <gtest/gtest.h>

#include "ops/cases.h"
#include "ops/op.h"
#include "planner/planner.h"
#include "tests/case_printer.h"
#include "tests/planner/run_plan.h"

namespace fettle::planner {
namespace {

class PlanTest : public testing::TestWithParam<ops::Case> {};

TEST_P(PlanTest, AgreesWithTheOracle) {
  Result<ir::Graph> graph = ops::Parse(GetParam().graph);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  if (const Status status = ops::InferGraph(*graph); !status.ok()) {
    ASSERT_EQ(status.code(), StatusCode::kUnsupported) << status.message();
    GTEST_SKIP() << "planned at run time: " << status.message();
  }
  const Result<std::vector<Tensor>> inputs = ir::NoiseInputs(*graph, 1);
  ASSERT_TRUE(inputs.ok()) << inputs.status().message();
  const Result<std::vector<Tensor>> want = ops::EvaluateGraph(*graph, *inputs);
  ASSERT_TRUE(want.ok()) << want.status().message();
  const CpuDevice device(std::make_shared<ThreadPool>(2));
  Result<exec::Plan> plan = MakePlan(*graph, device, {.threads = 2});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const Result<std::vector<Tensor>> got = RunPlan(*graph, std::move(*plan), device, *inputs);
  ASSERT_TRUE(got.ok()) << got.status().message();
  const bool quantised = GetParam().graph.find("QuantizeLinear") != std::string_view::npos;
  ExpectClose(*graph, *got, *want, quantised ? 1 : 0);
}

INSTANTIATE_TEST_SUITE_P(AllCases, PlanTest, testing::ValuesIn(ops::AllCases()), ops::CaseTestName);

/// What the group of node `n` is matched by.
const kernels::Match* MatchOf(const Cover& cover, ir::NodeId n) {
  const auto at = std::ranges::find_if(
      cover, [&](const GroupChoices& group) { return std::ranges::count(group.nodes, n) > 0; });
  return at == cover.end() ? nullptr : at->choices.front().match.get();
}

TEST(GreedyCover, AsksKernelsOnceForNodesThatAreTheSame) {
  ir::Graph graph = ops::Parse(
                        "input %x: f32[1x8]\nconst %w: f32[8x8] = noise(-1, 1)\n"
                        "const %v: f32[8x8] = noise(-1, 1)\n%a = MatMul(%x, %w)\n"
                        "%b = MatMul(%a, %w)\n%c = MatMul(%b, %v)\n%d = MatMul(%c, %w)\n"
                        "%e = Concat(%d, %d) {axis=0}\n%f = MatMul(%e, %w)\noutput %f\n")
                        .value();
  ASSERT_TRUE(ops::InferGraph(graph).ok());
  const CpuDevice cpu(std::make_shared<ThreadPool>(1));
  const Cover cover = GreedyCover(graph, DeviceSet(cpu), {.threads = 1}).value();
  ASSERT_EQ(cover.size(), 6U);
  const auto match = [&](int n) { return MatchOf(cover, static_cast<ir::NodeId>(n)); };
  EXPECT_EQ(match(0), match(1));
  EXPECT_EQ(match(0), match(3));
  EXPECT_NE(match(0), match(2));  // other weights
  EXPECT_NE(match(0), match(5));  // two rows
  for (const GroupChoices& group : cover) {
    // Each has its own names, for profiles and messages.
    ASSERT_EQ(group.nodes.size(), 1U);
    const ir::Node& node = graph.node(group.nodes[0]);
    EXPECT_EQ(group.fragment.outputs, node.outputs);
    EXPECT_EQ(group.fragment.graph->value(group.fragment.graph->outputs[0]).name,
              graph.value(node.outputs[0]).name);
  }
}

TEST(GreedyCover, LeavesAttentionTheNodesThatScaleItsQueries) {
  ir::Graph graph =
      ops::Parse(
          "input %x: f32[1x2x1x16]\ninput %k: f32[1x2x99x16]\ninput %v: f32[1x2x99x16]\n"
          "const %f: f32[] = 0.25\n"
          "%a = Neg(%x)\n%q = Mul(%a, %f)\n%t = Transpose(%k) {perm=[0,1,3,2]}\n"
          "%p = MatMul(%q, %t)\n%s = Softmax(%p)\n%y = MatMul(%s, %v)\noutput %y\n")
          .value();
  ASSERT_TRUE(ops::InferGraph(graph).ok());
  const CpuDevice cpu(std::make_shared<ThreadPool>(1));
  const Cover cover = GreedyCover(graph, DeviceSet(cpu), {.threads = 1}).value();
  ASSERT_EQ(cover.size(), 2U);
  const size_t most = std::max(cover[0].nodes.size(), cover[1].nodes.size());
  EXPECT_EQ(most, 5U);
}

TEST(GreedyCover, TellsApartNodesThatReadOneValueTwice) {
  ir::Graph graph = ops::Parse(
                        "input %x: f32[8x8]\ninput %y: f32[8x8]\n%a = MatMul(%x, %y)\n"
                        "%b = MatMul(%a, %a)\n%c = MatMul(%b, %y)\noutput %c\n")
                        .value();
  ASSERT_TRUE(ops::InferGraph(graph).ok());
  const CpuDevice cpu(std::make_shared<ThreadPool>(1));
  const Cover cover = GreedyCover(graph, DeviceSet(cpu), {.threads = 1}).value();
  EXPECT_NE(MatchOf(cover, ir::NodeId{0}), MatchOf(cover, ir::NodeId{1}));
  EXPECT_EQ(MatchOf(cover, ir::NodeId{0}), MatchOf(cover, ir::NodeId{2}));
}

}  // namespace
}  // namespace fettle::planner
