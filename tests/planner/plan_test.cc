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

}  // namespace
}  // namespace fettle::planner
