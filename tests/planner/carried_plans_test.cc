// Shapes that are planned by the decisions of another shape, which their plans name, and those that
// another one says nothing about.
#include "planner/carried_plans.h"

#include <gtest/gtest.h>

#include "ops/op.h"
#include "passes/specialise.h"

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

}  // namespace
}  // namespace fettle::planner
