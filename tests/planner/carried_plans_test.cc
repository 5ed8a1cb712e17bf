// Shapes that are planned by the decisions of another shape, which their plans name, and those that
// another one says nothing about.
#include "planner/carried_plans.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "ir/noise.h"
#include "ops/op.h"
#include "passes/specialise.h"
#include "planner/planner.h"
#include "tests/planner/run_plan.h"

namespace fettle::planner {
namespace {

constexpr std::string_view kNetwork =
    "input %x: f32[?x?x16]\n"
    "const %w: f32[16x32] = noise(-1, 1)\n"
    "const %v: f32[32x16] = noise(-1, 1)\n"
    "%a = MatMul(%x, %w)\n"
    "%b = Relu(%a)\n"
    "%y = MatMul(%b, %v)\n"
    "output %y\n";

class CarriedPlansTest : public testing::Test {
 protected:
  exec::Plan PlanFor(const Shape& shape, Limits limits = {.threads = 1}) {
    ir::Graph graph = ops::Parse(kNetwork).value();
    graph.value(graph.inputs[0]).shape = shape;
    EXPECT_TRUE(passes::Specialise(graph).ok());
    Result<exec::Plan> plan = plans_->PlanFor(graph, DeviceSet(device_), limits);
    EXPECT_TRUE(plan.ok()) << plan.status().message();
    return std::move(plan).value();
  }

  CpuDevice device_{std::make_shared<ThreadPool>(1)};
  std::shared_ptr<PlanSource> plans_ = CarriedPlans();
};

TEST_F(CarriedPlansTest, AShapeNearAnotherSaysWhoseDecisionsItTakes) {
  EXPECT_EQ(PlanFor({2, 8, 16}).carried_from, "");
  EXPECT_EQ(PlanFor({2, 9, 16}).carried_from, "x 2x8x16");
  EXPECT_TRUE(PlanFor({2, 9, 16}).is_default);
}

TEST_F(CarriedPlansTest, TheNearestIsCarried) {
  EXPECT_EQ(PlanFor({2, 8, 16}).carried_from, "");
  EXPECT_EQ(PlanFor({2, 40, 16}).carried_from, "");
  EXPECT_EQ(PlanFor({2, 24, 16}).carried_from, "x 2x40x16");
  EXPECT_EQ(PlanFor({2, 12, 16}).carried_from, "x 2x8x16");
}

TEST_F(CarriedPlansTest, AnotherRegimeIsPlannedAnew) {
  EXPECT_EQ(PlanFor({2, 8, 16}).carried_from, "");
  EXPECT_EQ(PlanFor({1, 8, 16}).carried_from, "");
  EXPECT_EQ(PlanFor({2, 1, 16}).carried_from, "");
  EXPECT_EQ(PlanFor({2, 8 * kCarriedRatio + 1, 16}).carried_from, "");
  EXPECT_EQ(PlanFor({2, 0, 16}).carried_from, "");
}

TEST_F(CarriedPlansTest, OtherLimitsArePlannedAnew) {
  EXPECT_EQ(PlanFor({2, 8, 16}).carried_from, "");
  EXPECT_EQ(PlanFor({2, 9, 16}, {.threads = 2}).carried_from, "");
  EXPECT_EQ(PlanFor({2, 9, 16}, {.threads = 1, .reference_only = true}).carried_from, "");
}

TEST_F(CarriedPlansTest, DecisionsUsedLongAgoAreForgotten) {
  EXPECT_EQ(PlanFor({2, 8, 16}).carried_from, "");
  for (int i = 0; i < 16; ++i) PlanFor({2, 8, 16}, {.threads = 2 + i});
  EXPECT_EQ(PlanFor({2, 9, 16}).carried_from, "");
}

/// A block with what does not depend on the image's extents (squeeze and excitation), and moves,
/// reductions and chains that do.
constexpr std::string_view kBlocks =
    "input %x: f32[?x3x?x?]\n"
    "const %w: f32[8x3x3x3] = noise(-1, 1)\n"
    "const %d: f32[8x1x3x3] = noise(-1, 1)\n"
    "const %s: f32[4x8x1x1] = noise(-1, 1)\n"
    "const %e: f32[8x4x1x1] = noise(-1, 1)\n"
    "const %p: f32[16x8x1x1] = noise(-1, 1)\n"
    "const %b: f32[16] = noise(-1, 1)\n"
    "%a = Conv(%x, %w) {pads=[1,1,1,1], strides=[2,1]}\n"
    "%f = HardSwish(%a)\n"
    "%g = Conv(%f, %d) {group=8, pads=[1,1,1,1]}\n"
    "%h = GlobalAveragePool(%g)\n"
    "%i = Conv(%h, %s)\n"
    "%j = Relu(%i)\n"
    "%k = Conv(%j, %e)\n"
    "%l = HardSigmoid(%k)\n"
    "%m = Mul(%g, %l)\n"
    "%n = Conv(%m, %p, %b)\n"
    "%o = Transpose(%n) {perm=[0,2,3,1]}\n"
    "%q = ReduceMax(%o)\n"
    "%y = Softmax(%o)\n"
    "output %y\n"
    "output %q\n";

ir::Graph BlocksFor(const Shape& shape) {
  static const ir::Graph kParsed = ops::Parse(kBlocks).value();  // one set of constants
  ir::Graph graph = kParsed;
  graph.value(graph.inputs[0]).shape = shape;
  EXPECT_TRUE(passes::Specialise(graph).ok());
  return graph;
}

/// What a plan knows of its groups, as Apply takes it.
std::vector<exec::PlannedStep> StepsOfGroups(exec::Plan plan) {
  std::erase_if(plan.steps, [](const auto& step) { return step.match == nullptr; });
  for (exec::PlannedStep& step : plan.steps) {
    step.inputs.clear();
    step.outputs.clear();
  }
  return std::move(plan.steps);
}

TEST_F(CarriedPlansTest, WhatIsCarriedIsWhatMatchingAnewMakes) {
  std::mt19937 random(39);
  const DeviceSet devices(device_);
  const ir::Graph first = BlocksFor({1, 3, 24, 40});
  const Decision decision = PreferredDecision(first, devices, {.threads = 1}).value();
  const std::vector<exec::PlannedStep> known =
      StepsOfGroups(Apply(first, decision, devices, 1).value());
  size_t same = 0;
  for (int i = 0; i < 40; ++i) {
    const ir::Graph graph = BlocksFor(
        {1, 3, 6 + static_cast<int64_t>(random() % 60), 2 + static_cast<int64_t>(random() % 120)});
    const exec::Plan anew = Apply(graph, decision, devices, 1, ThreadsOfGroups::kAnew).value();
    const exec::Plan carried =
        Apply(graph, decision, devices, 1, ThreadsOfGroups::kAnew, known).value();
    ASSERT_EQ(carried.steps.size(), anew.steps.size());
    for (size_t s = 0; s < anew.steps.size(); ++s) {
      const exec::PlannedStep &a = carried.steps[s], &b = anew.steps[s];
      EXPECT_EQ(a.kernel, b.kernel);
      EXPECT_EQ(a.params, b.params);
      EXPECT_EQ(a.problem.states, b.problem.states);
      EXPECT_EQ(a.problem.threads, b.problem.threads);
      EXPECT_EQ(a.inputs, b.inputs);
      EXPECT_EQ(a.outputs, b.outputs);
      if (b.kernel != nullptr) {
        const auto whole = kernels::MatchGroup(*b.kernel, b.problem.group, device_).value();
        EXPECT_TRUE(kernels::FindStates(*b.kernel, *whole, a.problem.states).ok());
      }
      same += std::ranges::count(known, a.match, &exec::PlannedStep::match);
    }
    const std::vector<Tensor> inputs = ir::NoiseInputs(graph, i).value();
    const auto want = RunPlan(graph, anew, devices, inputs),
               got = RunPlan(graph, carried, devices, inputs);
    ASSERT_TRUE(want.ok() && got.ok());
    for (size_t o = 0; o < want->size(); ++o)
      EXPECT_TRUE(std::ranges::equal((*want)[o].bytes(), (*got)[o].bytes())) << i;
  }
  EXPECT_GE(same, 40u) << "squeezed images depend on no extent";
}

TEST_F(CarriedPlansTest, KernelsOfEqualGroupsAreMadeOnce) {
  const DeviceSet devices(device_);
  const auto plan_for = [&](const ir::Graph& graph) {
    return plans_->PlanFor(graph, devices, {.threads = 1}).value();
  };
  const auto made = [](const exec::Plan& plan) {
    return std::ranges::count_if(plan.steps, [](const exec::PlannedStep& step) {
      return step.kept != nullptr && step.kept->Get() != nullptr;
    });
  };
  EXPECT_EQ(made(plan_for(BlocksFor({1, 3, 24, 40}))), 0);
  for (int64_t width = 41; width < 45; ++width) {
    const ir::Graph graph = BlocksFor({1, 3, 24, width});
    const exec::Plan plan = plan_for(graph);
    EXPECT_EQ(plan.carried_from, "x 1x3x24x40");
    // The first one that is carried makes them for the others.
    EXPECT_EQ(made(plan) > 0, width > 41) << width;
    exec::Plan alone = plan;
    for (exec::PlannedStep& step : alone.steps) step.kept = nullptr;
    const std::vector<Tensor> inputs = ir::NoiseInputs(graph, width).value();
    const auto want = RunPlan(graph, alone, devices, inputs),
               got = RunPlan(graph, plan, devices, inputs);
    ASSERT_TRUE(want.ok() && got.ok());
    for (size_t o = 0; o < want->size(); ++o)
      EXPECT_TRUE(std::ranges::equal((*want)[o].bytes(), (*got)[o].bytes())) << width;
  }
}

TEST_F(CarriedPlansTest, OtherConstantsAndAttributesAreOtherGroups) {
  ir::Graph first = ops::Parse(
                        "input %x: f32[2x16]\nconst %w: f32[16x512] = noise(-1, 1)\n"
                        "%a = MatMul(%x, %w)\n%y = LeakyRelu(%a) {alpha=0.25}\noutput %y\n")
                        .value();
  ASSERT_TRUE(passes::Specialise(first).ok());
  const DeviceSet devices(device_);
  const Decision decision = PreferredDecision(first, devices, {.threads = 1}).value();
  const std::vector<exec::PlannedStep> known =
      StepsOfGroups(Apply(first, decision, devices, 1).value());
  ASSERT_EQ(known.size(), 1u);
  const auto is_same = [&](const ir::Graph& graph) {
    const exec::Plan plan =
        Apply(graph, decision, devices, 1, ThreadsOfGroups::kAnew, known).value();
    return plan.steps.back().match == known[0].match;
  };
  EXPECT_TRUE(is_same(first));
  ir::Graph steeper = first;
  steeper.node(1).attributes.Set("alpha", 0.5);
  EXPECT_FALSE(is_same(steeper));
  ir::Graph heavier = first;
  const ir::ValueId w = heavier.node(0).inputs[1];
  const Tensor ones = Tensor::FromVector<float>({16, 512}, std::vector<float>(16 * 512, 1)).value();
  heavier.value(w).constant = std::make_shared<const Constant>(Constant::FromTensor(ones));
  EXPECT_FALSE(is_same(heavier));
}

}  // namespace
}  // namespace fettle::planner
