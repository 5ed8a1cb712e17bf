// What steps of a device on the host's own cores take, and what their runs take beside them.
#include "tuner/model/waited_steps.h"

#include <gtest/gtest.h>

#include "tests/sample_total.h"

namespace fettle::runtime {
namespace {

constexpr std::string_view kCpu = "the processor", kDevice = "a device on its cores";

tuner::StepSample Sample(std::string_view device, double alone_us, double us) {
  return {
      .of = {.device = std::string(device)}, .alone_us = alone_us, .halves_us = {us - 1, us + 1}};
}

/// A step of the CPU, one that is only enqueued, one that nothing runs for, another.
const std::vector<tuner::StepSample> kEnqueued = {Sample(kCpu, 100, 110), Sample(kDevice, 200, 5),
                                                  Sample(kDevice, 0, 1), Sample(kDevice, 50, 400)};
const std::vector<tuner::StepSample> kWaited = {Sample(kCpu, 100, 150), Sample(kDevice, 200, 230),
                                                Sample(kDevice, 0, 2), Sample(kDevice, 50, 60)};

TEST(WaitedStepsTest, WhatRunsTakeBesideTheirStepsIsSharedByLaunches) {
  const auto samples = tuner::WithWaited(kEnqueued, kWaited, kCpu, 110 + 230 + 2 + 60 + 16);
  EXPECT_NEAR(Total(samples), 418, 1e-9);
  EXPECT_NEAR(samples[0].halves_us[0], 109, 1e-9);
  EXPECT_NEAR(samples[1].halves_us[0], 229 + 8, 1e-9);
  EXPECT_NEAR(samples[3].halves_us[1], 61 + 8, 1e-9);
}

TEST(WaitedStepsTest, StepsShrinkWhereWaitingTookLonger) {
  const auto samples = tuner::WithWaited(kEnqueued, kWaited, kCpu, 110 + 146);
  EXPECT_NEAR(Total(samples), 256, 1e-9);
  EXPECT_NEAR(samples[3].halves_us[0], 59.0 / 2, 1e-9);
}

TEST(WaitedStepsTest, OtherStepsSayNothing) {
  const auto samples = tuner::WithWaited(kEnqueued, {kWaited[0]}, kCpu, 1000);
  EXPECT_EQ(samples[1].halves_us[0], kEnqueued[1].halves_us[0]);
}

}  // namespace
}  // namespace fettle::runtime
