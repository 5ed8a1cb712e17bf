// What costs are made of: how near kernels come to their bounds, and what steps take in networks
// over what they take alone.
#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <random>
#include <vector>

#include "device/cpu/cpu_device.h"
#include "ir/text.h"
#include "kernels/kernel.h"
#include "ops/op.h"
#include "planner/catalogue.h"
#include "planner/planner.h"
#include "tests/asked_device.h"
#include "tests/tuner/known_machine.h"
#include "tuner/cost/calibrated_costs.h"
#include "tuner/cost/calibration.h"
#include "tuner/cost/efficiency.h"
#include "tuner/cost/learned_costs.h"
#include "tuner/cost/step_costs.h"
#include "tuner/network/slot_costs.h"
#include "tuner/store/candidate.h"

namespace fettle::tuner {
namespace {

TEST(EfficiencyTest, FewProblemsSayNothing) {
  Efficiency efficiency;
  efficiency.set_share(0.75);
  const int way = efficiency.WayOf("gemm");
  efficiency.Learn(way, 10, 100);
  efficiency.Learn(way, 10, 100);
  EXPECT_EQ(efficiency.Bound(way, 10), 10);
  efficiency.Learn(way, 10, 100);
  EXPECT_DOUBLE_EQ(efficiency.Bound(way, 10), 75);
  EXPECT_EQ(efficiency.Bound(efficiency.WayOf("depthwise"), 10), 10) << "another way";
}

TEST(EfficiencyTest, WithoutAShareNothingIsAssumed) {
  Efficiency efficiency;
  const int way = efficiency.WayOf("gemm");
  for (int i = 0; i < 5; ++i) efficiency.Learn(way, 10, 100);
  EXPECT_EQ(efficiency.Bound(way, 10), 10);
}

TEST(EfficiencyTest, TheNearestToItsBoundCounts) {
  Efficiency efficiency;
  efficiency.set_share(0.5);
  const int way = efficiency.WayOf("gemm");
  for (double us : {100.0, 40.0, 90.0}) efficiency.Learn(way, 10, us);
  EXPECT_DOUBLE_EQ(efficiency.Bound(way, 10), 20);
  EXPECT_DOUBLE_EQ(efficiency.Bound(way, 5), 10) << "half the work, at least half the time";
}

TEST(EfficiencyTest, LargeProblemsMakeUpForWhatStartingTakes) {
  Efficiency efficiency;
  efficiency.set_share(1);
  const int way = efficiency.WayOf("gemm");
  for (int i = 0; i < 3; ++i) efficiency.Learn(way, 1, 9);
  EXPECT_EQ(efficiency.Bound(way, 1000), 1000) << "all of the nine may have been overhead";
}

StepClass Of(const std::string& kernel, const std::string& states = "NHWC -> NHWC",
             int threads = 2) {
  return {kernel, 1, states, threads, "a machine"};
}

/// A machine whose caches are cold in networks: each kernel takes `factors` times as long there,
/// but for noise.
std::vector<StepSample> RunNetwork(const std::map<std::string, double>& factors, int steps_of_each,
                                   double noise, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<StepSample> samples;
  for (int step = 0; step < steps_of_each; ++step) {
    for (const auto& [kernel, factor] : factors) {
      const double alone = 20 + 10 * (step % 7);
      const auto run = [&, factor = factor] {
        return alone * factor * (1 + noise * normal(random));
      };
      samples.push_back({Of(kernel), alone, {run(), run()}});
    }
  }
  return samples;
}

class CalibrationTest : public testing::Test {
 protected:
  std::unique_ptr<Store> store_ = MemoryStore();
};

TEST_F(CalibrationTest, NothingIsKnownAtFirst) {
  const Calibration none = Calibrations(*store_).Of(Of("cpu.conv"));
  EXPECT_EQ(none.factor, 1);
  EXPECT_EQ(none.runs, 0);
}

TEST_F(CalibrationTest, LearnsWhatColdCachesCostAndLaterPlansUseIt) {
  const std::map<std::string, double> factors = {{"cpu.conv", 1.4}, {"cpu.add", 1.0}};
  const Lesson lesson = Calibrations(*store_).Learn(RunNetwork(factors, 20, 0.02, 1));
  EXPECT_TRUE(lesson.kept);
  EXPECT_EQ(lesson.steps, 40);
  EXPECT_GT(lesson.residual_before, 0.1);
  EXPECT_LT(lesson.residual_after, 0.06);
  Calibrations later(*store_);
  const Calibration conv = later.Of(Of("cpu.conv"));
  EXPECT_NEAR(conv.factor, 1.4, 0.06);
  EXPECT_LT(conv.low, conv.factor);
  EXPECT_GT(conv.high, conv.factor);
  EXPECT_EQ(conv.runs, 20);
  EXPECT_NEAR(later.Of(Of("cpu.add")).factor, 1, 0.05);
}

TEST_F(CalibrationTest, FewStepsMoveAFactorLessThanMany) {
  double before = 1;
  for (int steps : {2, 4, 16}) {
    store_ = MemoryStore();
    std::vector<StepSample> samples = RunNetwork({{"cpu.add", 1}}, 30, 0, 1);
    for (int i = 0; i < steps; ++i) samples.push_back({Of("cpu.conv"), 50, {75, 75}});
    Calibrations calibrations(*store_);
    calibrations.Learn(samples);
    const double factor = calibrations.Of(Of("cpu.conv")).factor;
    EXPECT_GT(factor, before) << steps;
    EXPECT_LT(factor, 1.5) << steps;
    before = factor;
  }
}

/// What neighbours cost a short step and what they cost a long one are two things.
TEST_F(CalibrationTest, StepsThatTakeAboutAsLongAreAlike) {
  std::vector<StepSample> samples;
  for (int i = 0; i < 80; ++i) {
    const bool is_short = i / 2 % 2 == 0;
    const double alone = is_short ? 16 : 1024, in_network = alone * (is_short ? 1.5 : 1.05);
    samples.push_back({Of("cpu.conv"), alone, {in_network, in_network}});
  }
  Calibrations calibrations(*store_);
  ASSERT_TRUE(calibrations.Learn(samples).kept);
  EXPECT_NEAR(calibrations.Of(Of("cpu.conv"), 16).factor, 1.5, 0.05);
  EXPECT_NEAR(calibrations.Of(Of("cpu.conv"), 1024).factor, 1.05, 0.02);
  // A step that takes longer alone is never expected to take less in a network.
  double before = 0;
  for (double us = 4; us < 4096; us *= 1.1) {
    const double in_network = us * calibrations.Of(Of("cpu.conv"), us).factor;
    EXPECT_GT(in_network, before) << us;
    before = in_network;
  }
}

TEST_F(CalibrationTest, WhatIsLearnedAnewReplacesWhatTheObjectTaught) {
  (void)Calibrations(*store_).Learn(RunNetwork({{"cpu.conv", 1.2}}, 30, 0, 1));
  const double before = Calibrations(*store_).Of(Of("cpu.conv")).factor;
  Calibrations calibrations(*store_);
  ASSERT_TRUE(calibrations.Learn(RunNetwork({{"cpu.conv", 2}}, 30, 0, 1)).kept);
  EXPECT_GT(Calibrations(*store_).Of(Of("cpu.conv")).factor, before + 0.1);
  // Here nothing is learned, so that what was taught is gone.
  EXPECT_FALSE(calibrations.LearnAnew({}).kept);
  EXPECT_DOUBLE_EQ(Calibrations(*store_).Of(Of("cpu.conv")).factor, before);
  ASSERT_TRUE(calibrations.LearnAnew(RunNetwork({{"cpu.conv", 1.3}}, 30, 0, 1)).kept);
  const double other = Calibrations(*store_).Of(Of("cpu.conv")).factor;
  EXPECT_GT(other, before);
  EXPECT_LT(other, 1.3);
}

TEST_F(CalibrationTest, WhatAStepTookCountsForThatStep) {
  std::vector<StepSample> samples = RunNetwork({{"cpu.conv", 1.1}}, 40, 0, 1);
  for (int i = 0; i < 2; ++i) samples.push_back({Of("cpu.conv"), 50, {80, 80}, "a step"});
  Calibrations calibrations(*store_);
  ASSERT_TRUE(calibrations.Learn(samples).kept);
  EXPECT_GT(calibrations.Of(Of("cpu.conv"), 50, "a step").factor, 1.35);
  EXPECT_LT(calibrations.Of(Of("cpu.conv"), 50, "another").factor, 1.2);
  EXPECT_LT(calibrations.Of(Of("cpu.conv"), 50).factor, 1.2);
}

/// Each step is off in its own way, which says nothing of others, and the same in all runs.
TEST_F(CalibrationTest, WhatAStepTeachesOfItselfIsKeptWhereItTeachesOthersNothing) {
  std::vector<StepSample> samples;
  for (int i = 0; i < 20; ++i) {
    const double us = i / 2 % 2 == 0 ? 40 : 60;
    samples.push_back({Of("cpu.conv"), 50, {us, us}, fmt::format("step {}", i)});
  }
  Calibrations calibrations(*store_);
  const Lesson lesson = calibrations.Learn(samples);
  EXPECT_TRUE(lesson.kept);
  EXPECT_GE(lesson.residual_after, lesson.residual_before - 1e-9);
  EXPECT_LT(calibrations.Of(Of("cpu.conv"), 50, "step 0").factor, 0.95);
  EXPECT_GT(calibrations.Of(Of("cpu.conv"), 50, "step 2").factor, 1.05);
  EXPECT_EQ(calibrations.Of(Of("cpu.conv"), 50, "another").factor, 1);
}

TEST_F(CalibrationTest, AKernelThatNeverRanIsTakenForLikeTheOthers) {
  Calibrations calibrations(*store_);
  calibrations.Learn(RunNetwork({{"cpu.conv", 1.3}, {"cpu.pool", 1.3}}, 20, 0.01, 2));
  EXPECT_NEAR(calibrations.Of(Of("cpu.other")).factor, 1.3, 0.05);
  EXPECT_NEAR(calibrations.Of(Of("cpu.conv", "NCHW16c -> NCHW16c")).factor, 1.3, 0.05);
  // On other threads nothing is known.
  EXPECT_EQ(calibrations.Of(Of("cpu.conv", "NHWC -> NHWC", 1)).factor, 1);
}

TEST_F(CalibrationTest, WhatDoesNotRepeatIsNotKept) {
  // Factors of 1 on average; each step is off by chance, another way in each half.
  int kept = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    store_ = MemoryStore();
    const Lesson lesson =
        Calibrations(*store_).Learn(RunNetwork({{"a", 1}, {"b", 1}}, 12, 0.1, seed));
    kept += lesson.kept ? 1 : 0;
    if (lesson.kept) {
      EXPECT_LT(lesson.residual_after, lesson.residual_before);
      EXPECT_NEAR(Calibrations(*store_).Of(Of("a")).factor, 1, 0.08);
    } else {
      EXPECT_EQ(Calibrations(*store_).Of(Of("a")).factor, 1);
    }
  }
  EXPECT_LE(kept, 10);
}

TEST_F(CalibrationTest, AGoodCalibrationIsNotReplacedByAWorseOne) {
  Calibrations calibrations(*store_);
  ASSERT_TRUE(calibrations.Learn(RunNetwork({{"cpu.conv", 1.4}}, 30, 0.01, 1)).kept);
  const double before = calibrations.Of(Of("cpu.conv")).factor;
  // A network in which half of the steps were disturbed: what they teach does not hold for others.
  std::vector<StepSample> samples = RunNetwork({{"cpu.conv", 1.4}}, 30, 0.01, 2);
  for (size_t i = 0; i < samples.size(); i += 2) samples[i].halves_us[0] *= 2.5;
  const Lesson lesson = calibrations.Learn(samples);
  if (!lesson.kept) {
    EXPECT_EQ(calibrations.Of(Of("cpu.conv")).factor, before);
  }
}

TEST_F(CalibrationTest, TwoStepsThatNobodyMeasuredAloneTeachNothing) {
  const Lesson lesson = Calibrations(*store_).Learn(
      std::vector<StepSample>{{Of("a"), 0, {10, 10}}, {Of("b"), 10, {0, 0}}, {Of("c"), 5, {7, 7}}});
  EXPECT_FALSE(lesson.kept);
  EXPECT_EQ(lesson.steps, 1);
  EXPECT_EQ(Calibrations(*store_).Of(Of("c")).factor, 1);
}

TEST(CalibratedCostsTest, ScalesCostsAndLeavesRowsAlone) {
  const CpuDevice device(std::make_shared<ThreadPool>(1));
  const std::shared_ptr<Store> store = StoreWithCeilings(device);
  ir::Graph graph = ops::Parse("input %x: f32[4x8]\n%y = Relu(%x)\noutput %y\n").value();
  ASSERT_TRUE(ops::InferGraph(graph).ok());
  const planner::Catalogue catalogue =
      planner::ListCatalogue(graph, device, {.threads = 1}).value();
  const planner::Kind& kind = catalogue.kinds[0];
  const planner::Entry& entry = kind.entries[0];
  const RowKey key = LearnedCosts(device, *store).KernelKey(kind, entry, entry.params);
  store->Put(key, {.median_us = 10, .low_us = 9, .samples = 5});
  const StepClass of = ClassOf(*entry.kernel, *kind.group, entry.states, entry.threads, device);
  std::vector<StepSample> samples(40, {of, 10, {15, 15}});
  ASSERT_TRUE(Calibrations(*store).Learn(samples).kept);
  SlotCosts alone(device, *store, {});
  CalibratedCosts costs(alone, device, *store, /*wants_workspaces=*/true);
  const planner::EntryCost cost = costs.Kernel(kind, entry);
  EXPECT_TRUE(cost.measured);
  EXPECT_EQ(cost.alone_us, 10);
  EXPECT_NEAR(cost.us, 15, 0.5);
  EXPECT_EQ(store->Find(key)->median_us, 10);
  // What is measured cannot be given up.
  costs.GiveUp(entry);
  EXPECT_TRUE(costs.Kernel(kind, entry).banned.empty());
}

/// Every entry takes so long of a device and of the host.
class FixedCosts final : public planner::CostSource {
 public:
  FixedCosts(double us, double host_us) : cost_{.us = us, .measured = true, .host_us = host_us} {}
  planner::EntryCost Kernel(const planner::Kind&, const planner::Entry&) override { return cost_; }
  planner::EntryCost Conversion(const Shape&, DType, const State&, const State&, int) override {
    return cost_;
  }

 private:
  planner::EntryCost cost_;
};

TEST(CalibratedCostsTest, HalfOfWhatTheHostTakesLongerThanTheDeviceCounts) {
  const CpuDevice device(std::make_shared<ThreadPool>(1));
  const std::shared_ptr<Store> store = MemoryStore();
  ir::Graph graph = ops::Parse("input %x: f32[4x8]\n%y = Relu(%x)\noutput %y\n").value();
  ASSERT_TRUE(ops::InferGraph(graph).ok());
  const planner::Catalogue catalogue =
      planner::ListCatalogue(graph, device, {.threads = 1}).value();
  const planner::Kind& kind = catalogue.kinds[0];
  for (const auto& [us, host_us, want] : {std::array{2.0, 6.0, 4.0}, std::array{9.0, 6.0, 9.0}}) {
    FixedCosts alone(us, host_us);
    const planner::EntryCost cost =
        CalibratedCosts(alone, device, *store, false).Kernel(kind, kind.entries[0]);
    EXPECT_DOUBLE_EQ(cost.us, want);
    EXPECT_DOUBLE_EQ(cost.alone_us, us);
  }
}

TEST(CalibratedCostsTest, TheHostEnqueuesNothingWhereLaunchesAreReplayed) {
  const CpuDevice cpu(std::make_shared<ThreadPool>(1));
  const std::shared_ptr<Store> store = MemoryStore();
  const State buffer{.device = DeviceKind::kOpenCl, .memory = MemoryKind::kBuffer};
  for (const bool replays : {false, true}) {
    const AskedDevice device(replays);
    FixedCosts alone(2, 6);
    CalibratedCosts costs(alone, DeviceSet(cpu, &device), *store, false);
    EXPECT_DOUBLE_EQ(costs.Conversion({4, 8}, DType::kF32, {}, buffer, 1).us, replays ? 2 : 4);
  }
}

}  // namespace
}  // namespace fettle::tuner
