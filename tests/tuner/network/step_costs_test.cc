// What is known of the steps of a plan.
#include "tuner/cost/step_costs.h"

#include <gtest/gtest.h>

#include "device/cpu/cpu_device.h"
#include "ops/op.h"
#include "planner/planner.h"
#include "tuner/store/candidate.h"

namespace fettle::tuner {
namespace {

TEST(StepCosts, KnowViewsAndWhatWasMeasuredAlone) {
  ir::Graph graph = ops::Parse(
                        "input %x: f32[4x6]\n%a = Relu(%x)\n%b = Flatten(%a) {axis=0}\n"
                        "%c = Sigmoid(%b)\noutput %c\n")
                        .value();
  ASSERT_TRUE(ops::InferGraph(graph).ok());
  const CpuDevice cpu(std::make_shared<ThreadPool>(1));
  const DeviceSet devices(cpu);
  const planner::Decision decision =
      planner::PreferredDecision(graph, devices, {.threads = 1}).value();
  const exec::Plan plan = planner::Apply(graph, decision, devices, 1).value();
  const std::unique_ptr<Store> store = MemoryStore();
  const std::vector<StepCost> before = StepCostsOf(plan, devices, 1, false, *store);
  for (const exec::PlannedStep& step : plan.steps)
    if (step.kernel != nullptr)
      store->Put(KeyOf({step.kernel, step.problem, step.params}, cpu),
                 {.median_us = 3, .low_us = 3, .samples = 5});
  const std::vector<StepCost> after = StepCostsOf(plan, devices, 1, false, *store);
  int views = 0, kernels = 0;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const bool is_kernel = plan.steps[i].kernel != nullptr;
    views += before[i].known ? 1 : 0;
    kernels += is_kernel ? 1 : 0;
    EXPECT_EQ(before[i].us, 0);
    EXPECT_EQ(after[i].known, is_kernel) << "conversions have rows of their own";
    EXPECT_EQ(after[i].alone_us, is_kernel ? 3 : 0);
  }
  EXPECT_EQ(views, 1) << "Flatten moves nothing";
  EXPECT_EQ(kernels, 3);
}

TEST(StepCosts, AHostThatEnqueuesForLongerThanDevicesWorkIsWhatARunTakes) {
  const auto us = [](double host_us, double device_us) {
    const StepCost step{.us = device_us, .host_us = host_us};
    const std::vector<StepCost> steps(10, step);
    return RunUs(steps);
  };
  EXPECT_DOUBLE_EQ(us(6, 2), 60);
  EXPECT_DOUBLE_EQ(us(6, 20), 200);
  EXPECT_DOUBLE_EQ(us(0, 20), 200) << "the host does nothing else meanwhile";
  const std::vector<StepCost> steps = {
      {.us = 100, .host_us = 5}, {.us = 1, .host_us = 5}, {.us = 30, .host_us = 0}};
  EXPECT_DOUBLE_EQ(RunUs(steps), 131) << "devices work on the large one while small ones follow";
}

TEST(StepCosts, WhatTheHostTakesIsARowOfItsOwn) {
  const RowKey key{.problem = "p", .kernel = "k", .device = "d", .protocol = kDeviceProtocol};
  const auto store = MemoryStore();
  PutTimes(key, {.median_us = 3, .samples = 5, .host_us = 7}, *store);
  EXPECT_EQ(store->Find(key)->median_us, 3);
  EXPECT_EQ(store->Find(HostKey(key))->median_us, 7);
  EXPECT_EQ(FindTimes(key, *store)->host_us, 7);
  RowKey newer = key;
  newer.build = "another";
  EXPECT_EQ(FindTimes(newer, *store)->median_us, 3) << "a prior, of the device's time";
  RowKey on_cpu = key;
  on_cpu.protocol = kProtocol;
  PutTimes(on_cpu, {.median_us = 2, .samples = 5}, *store);
  EXPECT_EQ(FindTimes(on_cpu, *store)->host_us, 0);
}

}  // namespace
}  // namespace fettle::tuner
