// What steps took, run after run, beside what is known of them; what is kept of decisions.
#include "tuner/model/recorded_plans.h"

#include <gtest/gtest.h>

#include "tests/sample_total.h"
#include "tuner/model/kept_plans.h"

namespace fettle::runtime {
namespace {

std::vector<exec::StepProfile> Steps(std::vector<std::pair<std::string, double>> steps) {
  std::vector<exec::StepProfile> run;
  for (auto& [kernel, ms] : steps) {
    run.emplace_back().kernel = kernel;
    run.back().ms = ms;
  }
  return run;
}

std::vector<tuner::StepCost> Costs(const std::vector<std::string>& kernels) {
  std::vector<tuner::StepCost> costs;
  for (const std::string& kernel : kernels) {
    costs.emplace_back().kernel = kernel;
    costs.back().alone_us = 500;
  }
  return costs;
}

TEST(StepTimesTest, HalvesAreOfEveryOtherTypicalRun) {
  tuner::StepTimes times;
  // The fastest two and the slowest two of eight are left out.
  for (double ms : {0.1, 9.0, 1.0, 2.0, 1.2, 2.2, 0.2, 8.0})
    times.Add(Steps({{"conv", ms}, {"add", 0.5}}));
  const std::vector<tuner::StepSample> samples = times.Samples(Costs({"conv", "add"}));
  ASSERT_EQ(samples.size(), 2U);
  EXPECT_NEAR(samples[0].halves_us[0], (1000 + 2000) / 2, 1e-9);
  EXPECT_NEAR(samples[0].halves_us[1], (1200 + 2200) / 2, 1e-9);
  EXPECT_EQ(samples[0].alone_us, 500);
  EXPECT_NEAR(samples[1].halves_us[0], 500, 1e-9);
}

/// In each run another step is late, so that no step's median shows it.
TEST(StepTimesTest, StepsAddUpToARun) {
  tuner::StepTimes times;
  for (size_t late = 0; late < 4; ++late) {
    std::vector<std::pair<std::string, double>> steps(4, {"conv", 0.01});
    steps[late].second = 0.05;
    times.Add(Steps(steps));
  }
  EXPECT_NEAR(Total(times.Samples(Costs({"conv", "conv", "conv", "conv"}))), 3 * 10 + 50, 1e-9);
}

TEST(StepTimesTest, RunsThatWereDisturbedDoNotCount) {
  tuner::StepTimes times;
  for (int run = 0; run < 8; ++run) times.Add(Steps({{"conv", run % 4 == 0 ? 2.0 : 0.03}}));
  EXPECT_NEAR(Total(times.Samples(Costs({"conv"}))), 30, 1e-9);
}

TEST(StepTimesTest, OtherStepsTeachNothing) {
  tuner::StepTimes times;
  times.Add(Steps({{"conv", 1}}));
  EXPECT_TRUE(times.Samples(Costs({"conv"})).empty());  // one run has no halves
  times.Add(Steps({{"conv", 1}, {"add", 1}}));          // another path: left out
  EXPECT_TRUE(times.Samples(Costs({"conv"})).empty());
  times.Add(Steps({{"conv", 3}}));
  EXPECT_EQ(times.Samples(Costs({"conv"})).size(), 1U);
  EXPECT_TRUE(times.Samples(Costs({"pool"})).empty());
  EXPECT_TRUE(times.Samples(Costs({"conv", "add"})).empty());
}

/// A round beside other guests of the machine: everything takes twice as long.
TEST(RoundSamplesTest, SlowRoundsCountAtThePaceOfTheFastest) {
  tuner::RoundSamples rounds;
  EXPECT_EQ(rounds.least_us(), 0);
  rounds.Add({{.alone_us = 10, .halves_us = {24, 26}}}, 200);
  rounds.Add({{.alone_us = 10, .halves_us = {12, 13}}}, 100);
  rounds.Add({{.alone_us = 10, .halves_us = {18, 20}}}, 150);
  EXPECT_EQ(rounds.least_us(), 100);
  const std::vector<tuner::StepSample> all = rounds.AtOnePace();
  ASSERT_EQ(all.size(), 3U);
  for (const tuner::StepSample& sample : all) {
    EXPECT_EQ(sample.alone_us, 10);
    EXPECT_NEAR(sample.halves_us[0], 12, 1e-9);
    EXPECT_NEAR(sample.halves_us[1], 13, 0.4);
  }
}

TEST(Stamp, IsOfTheKernelsThatADecisionUses) {
  planner::Decision decision;
  decision.groups = {
      {.kernel = "cpu.softmax.rows"}, {.kernel = "cpu.move"}, {.kernel = "cpu.move"}};
  const std::string kept = tuner::Stamp(decision, "a text\nof lines");
  EXPECT_TRUE(kept.starts_with("kernels cpu.move=")) << kept;
  EXPECT_EQ(tuner::Unstamp(kept).value(), "a text\nof lines");
  std::string edited = kept;
  char& digit = edited[kept.find('=') + 1];
  digit = digit == '0' ? '1' : '0';
  const Status changed = tuner::Unstamp(edited).status();
  EXPECT_EQ(changed.code(), StatusCode::kVersionMismatch);
  EXPECT_EQ(changed.message(), "kernel cpu.move: its sources have changed");
  EXPECT_EQ(tuner::Unstamp("").status().code(), StatusCode::kCorrupt);
  EXPECT_EQ(tuner::Unstamp("kernels cpu.move\n").status().code(), StatusCode::kCorrupt);
  EXPECT_EQ(tuner::Unstamp("group 0 ...\n").status().code(), StatusCode::kCorrupt);
}

}  // namespace
}  // namespace fettle::runtime
