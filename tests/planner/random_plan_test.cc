// Plans that random costs make optimal: any mix of groups, kernels, layouts, parameters and thread
// counts computes what the oracle computes.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "ops/op.h"
#include "planner/extract.h"
#include "planner/restrict.h"
#include "planner/same_bytes.h"
#include "solver/solve.h"
#include "tests/planner/random_costs.h"
#include "tests/planner/run_plan.h"

namespace fettle::planner {
namespace {

/// What a plan converts is what was priced: a state is made as the decision names it, and read
/// under other names of the same bytes.
void ExpectConversionsOf(const Decision& decision, const ir::Graph& graph, const exec::Plan& plan) {
  for (const exec::PlannedStep& step : plan.steps) {
    if (step.kernel != nullptr) continue;
    const exec::PlannedTensor& made = plan.tensors[step.outputs[0]];
    const bool decided = std::ranges::any_of(decision.conversions, [&](const auto& conversion) {
      return graph.value(conversion.value).name == made.name && conversion.to == made.state;
    });
    EXPECT_TRUE(decided) << made.name << " to " << StateName(made.state, made.shape.rank());
  }
}

class RandomPlanTest : public testing::TestWithParam<std::string_view> {};

TEST_P(RandomPlanTest, ComputesWhatTheOracleComputes) {
  ir::Graph graph = ops::Parse(GetParam()).value();
  ASSERT_TRUE(ops::InferGraph(graph).ok());
  const std::vector<Tensor> inputs = ir::NoiseInputs(graph, 1).value();
  const std::vector<Tensor> want = ops::EvaluateGraph(graph, inputs).value();
  const CpuDevice device(std::make_shared<ThreadPool>(2));
  const Catalogue catalogue = ListCatalogue(graph, device, {.threads = 2}).value();
  std::set<std::string> plans;
  for (uint64_t seed = 1; seed <= 25; ++seed) {
    RandomCosts costs(seed, /*draws_params=*/true);
    const Result<Extracted> extracted = Extract(graph, catalogue, costs, 2);
    ASSERT_TRUE(extracted.ok()) << extracted.status().message();
    const Result<solver::Solution> solution = solver::Solve(extracted->problem, {});
    ASSERT_TRUE(solution.ok()) << solution.status().message();
    const Result<solver::Cost> cost = solver::Evaluate(extracted->problem, *solution);
    ASSERT_TRUE(cost.ok()) << cost.status().message();
    EXPECT_NEAR(*cost, solution->cost, 1e-6);
    const Decision decision = ToDecision(graph, catalogue, *extracted, *solution, 2);
    plans.insert(PrintDecision(graph, decision));
    Result<exec::Plan> plan = Apply(graph, decision, device, 2);
    ASSERT_TRUE(plan.ok()) << plan.status().message() << PrintDecision(graph, decision);
    ExpectConversionsOf(decision, graph, *plan);
    const Result<std::vector<Tensor>> got = RunPlan(graph, std::move(*plan), device, inputs);
    ASSERT_TRUE(got.ok()) << got.status().message();
    ExpectClose(graph, *got, want, 1);
    if (HasFailure()) FAIL() << "seed " << seed << "\n" << PrintDecision(graph, decision);
  }
  EXPECT_GT(plans.size(), 10U) << "the costs hardly change the plan";
}

std::string NetName(const testing::TestParamInfo<std::string_view>& info) {
  constexpr std::string_view kNames[] = {"Residual", "Branches", "Quantised"};
  return std::string(kNames[info.index]);
}

INSTANTIATE_TEST_SUITE_P(Nets, RandomPlanTest, testing::Values(kResidual, kBranches, kQuantised),
                         NetName);

class RestrictTest : public testing::Test {
 protected:
  RestrictTest() {
    EXPECT_TRUE(ops::InferGraph(graph_).ok());
    catalogue_ = ListCatalogue(graph_, device_, {.threads = 1}).value();
  }

  ir::Graph graph_ = ops::Parse(kResidual).value();
  CpuDevice device_{std::make_shared<ThreadPool>(1)};
  Catalogue catalogue_;
  RandomCosts costs_{1};
};

TEST_F(RestrictTest, KeepsToALayoutWhereItCan) {
  Extracted extracted = Extract(graph_, catalogue_, costs_, 1).value();
  const double free = solver::Solve(extracted.problem, {})->cost;
  ASSERT_TRUE(RestrictToLayout("NHWC", graph_, extracted).ok());
  const solver::Solution solution = solver::Solve(extracted.problem, {}).value();
  EXPECT_GE(solution.cost, free - 1e-9);
  const Decision decision = ToDecision(graph_, catalogue_, extracted, solution, 1);
  for (const GroupDecision& group : decision.groups) {
    for (const State& state : group.states.outputs) {
      // Layouts of equal bytes are one state, whatever name it has.
      const Shape& shape = *graph_.value(graph_.node(group.nodes.back()).outputs[0]).shape;
      const bool row = SameBytes(shape, state, {.storage = state.storage});
      const State wanted{.layout = Layout::ChannelsLast(4), .storage = state.storage};
      EXPECT_TRUE(row || SameBytes(shape, state, wanted)) << StateName(state, 4);
    }
  }
  for (size_t g = 0; g < extracted.entries.size(); ++g) {
    const size_t choices = extracted.problem.groups[g].choices.size();
    EXPECT_EQ(extracted.entries[g].size(), choices);
    EXPECT_EQ(extracted.measured[g].size(), choices);
    EXPECT_EQ(extracted.proposals[g].size(), choices);
  }
  EXPECT_EQ(RestrictToLayout("NCHW99c", graph_, extracted).code(), StatusCode::kInvalidArgument);
}

/// 16 channels in one block are channels-last: the state has that name alone.
TEST_F(RestrictTest, ALayoutOfTheSameBytesIsTheLayout) {
  ir::Graph graph = ops::Parse(
                        "input %x: f32[1x16x5x5]\nconst %w: f32[16x16x3x3] = noise(-1, 1)\n"
                        "%y = Conv(%x, %w) {pads=[1,1,1,1]}\n%z = Relu(%y)\noutput %z\n")
                        .value();
  ASSERT_TRUE(ops::InferGraph(graph).ok());
  const Catalogue catalogue = ListCatalogue(graph, device_, {.threads = 1}).value();
  double cost[2];
  for (int i = 0; i < 2; ++i) {
    Extracted extracted = Extract(graph, catalogue, costs_, 1).value();
    ASSERT_TRUE(RestrictToLayout(i == 0 ? "NHWC" : "NCHW16c", graph, extracted).ok());
    cost[i] = solver::Solve(extracted.problem, {})->cost;
  }
  EXPECT_EQ(cost[0], cost[1]);
}

TEST_F(RestrictTest, NodesThatCannotKeepTheLayoutStayFree) {
  std::vector<double> found;
  for (const char* name : {"NCHW", "row", "NCHW8c"}) {
    Extracted extracted = Extract(graph_, catalogue_, costs_, 1, {.fusion_gains = true}).value();
    ASSERT_TRUE(RestrictToLayout(name, graph_, extracted).ok()) << name;
    const Result<solver::Solution> solution = solver::Solve(extracted.problem, {});
    ASSERT_TRUE(solution.ok()) << name << ": " << solution.status().message();
    found.push_back(solution->cost);
  }
  EXPECT_EQ(found[0], found[1]);
}

TEST(CatalogueTest, ListsEqualGroupsOnceAndRefusesWithReasons) {
  ir::Graph graph = ops::Parse(R"(input %x: f32[1x8x6x6]
const %w: f32[8x8x3x3]
const %v: f32[8x8x3x3]
%a = Conv(%x, %w, _) {pads=[1,1,1,1]}
%b = Conv(%a, %v, _) {pads=[1,1,1,1]}
output %b
)")
                        .value();
  ASSERT_TRUE(ops::InferGraph(graph).ok());
  const CpuDevice device(std::make_shared<ThreadPool>(2));
  const Catalogue catalogue = ListCatalogue(graph, device, {.threads = 2}).value();
  EXPECT_EQ(catalogue.kinds.size(), 1U);
  EXPECT_EQ(catalogue.instances.size(), 2U);
  EXPECT_FALSE(catalogue.kinds[0].rejected.empty());
  for (const Rejection& rejection : catalogue.kinds[0].rejected)
    EXPECT_FALSE(rejection.reason.empty());
  int single = 0;
  for (const Entry& entry : catalogue.kinds[0].entries) single += entry.threads == 1 ? 1 : 0;
  EXPECT_EQ(2 * single, std::ssize(catalogue.kinds[0].entries));
}

/// The whole graph as one group is measured at 100; the parts that are named by their operators
/// are bounded by 1, all others by 1000.
class PartCosts final : public CostSource {
 public:
  PartCosts(size_t nodes, std::set<std::string> parts) : nodes_(nodes), parts_(std::move(parts)) {}
  EntryCost Kernel(const Kind& kind, const Entry&) override {
    if (kind.group->nodes().size() == nodes_) return {.us = 100, .measured = true};
    std::string text;
    for (const ir::Node& node : kind.group->nodes())
      text += fmt::format("{}{}", text.empty() ? "" : " ", node.op);
    return {.us = parts_.contains(text) ? 1.0 : 1000.0};
  }
  EntryCost Conversion(const Shape&, DType, const State&, const State&, int) override {
    return {.us = 1, .measured = true};
  }

 private:
  size_t nodes_;
  std::set<std::string> parts_;
};

/// How many groups the cheapest plan has.
size_t CountPicks(std::string_view text, const std::set<std::string>& parts,
                  const Assumptions& assumptions) {
  ir::Graph graph = ops::Parse(text).value();
  EXPECT_TRUE(ops::InferGraph(graph).ok());
  const CpuDevice device(std::make_shared<ThreadPool>(1));
  const Catalogue catalogue = ListCatalogue(graph, device, {.threads = 1}).value();
  PartCosts costs(graph.nodes().size(), parts);
  const Extracted extracted = Extract(graph, catalogue, costs, 1, assumptions).value();
  return solver::Solve(extracted.problem, {})->picks.size();
}

TEST(AssumeTest, PartsOfMeasuredGroupsComeBehindThem) {
  const struct {
    std::string_view graph;
    std::set<std::string> parts;
  } cases[] = {{R"(input %x: f32[1x8x6x6]
const %w: f32[8x8x3x3]
%a = Conv(%x, %w, _) {pads=[1,1,1,1]}
%b = Relu(%a)
output %b
)",
                {"Conv", "Relu"}},
               {R"(input %x: f32[1x8x6x6]
%a = Exp(%x)
%b = Tanh(%a)
%c = Sqrt(%b)
output %c
)",
                {"Exp", "Tanh Sqrt"}},
               // What lies between has another type than the result.
               {R"(input %x: i8[1x8x6x6]
const %s: f32[] = 0.02
const %z: i8[] = 0
const %w: i8[8x8x3x3] = noise(-100, 100)
%d = DequantizeLinear(%x, %s, %z)
%v = DequantizeLinear(%w, %s, %z)
%a = Conv(%d, %v, _) {pads=[1,1,1,1]}
%b = QuantizeLinear(%a, %s, %z)
output %b
)",
                {"DequantizeLinear DequantizeLinear Conv", "QuantizeLinear"}}};
  for (const auto& [graph, parts] : cases) {
    EXPECT_EQ(CountPicks(graph, parts, {}), 2U) << "two bounds beat one time\n" << graph;
    EXPECT_EQ(CountPicks(graph, parts, {.fusion_gains = true}), 1U) << graph;
  }
}

}  // namespace
}  // namespace fettle::planner
