// Deciding before it starts whether work ends in time.
#include "tuner/measure/allowance.h"

#include <gtest/gtest.h>

#include "tests/tuner/fake_kernel.h"

namespace fettle::tuner {
namespace {

TEST(AllowanceTest, AffordsEverythingWithoutADeadline) {
  const Allowance allowance(0);
  EXPECT_FALSE(allowance.limited());
  EXPECT_FALSE(allowance.IsOver());
  EXPECT_TRUE(allowance.Affords({1e9, 1e9}));
}

TEST(AllowanceTest, LearnsHowFarGuessesAreOff) {
  FakeMachine machine(1, 0);
  Allowance allowance(1'000'000'000, machine.clock());
  const Effort effort{0, 0.01};
  EXPECT_TRUE(allowance.Affords({0, 0.2}));
  // Ten times the guess, again and again.
  for (int i = 0; i < 5; ++i) allowance.Spend(effort, [&] { return machine.Work(100'000), 0; });
  EXPECT_TRUE(allowance.Affords({0, 0.04}));
  EXPECT_FALSE(allowance.Affords({0, 0.06}));
  // What needs the oracle is another matter.
  EXPECT_TRUE(allowance.Affords({0.1, 0.1}));
}

TEST(AllowanceTest, KeepsTimeForTheEnd) {
  FakeMachine machine(1, 0);
  Allowance allowance(1'000'000'000, machine.clock());
  allowance.Keep(0.9);
  EXPECT_NEAR(allowance.Left(), 0.1, 1e-9);
  machine.Work(200'000);
  EXPECT_TRUE(allowance.IsOver());
}

/// Candidates of all sizes, and guesses that are off by up to four times: whatever is started ends
/// in time but for what one guess may miss.
TEST(AllowanceTest, FiveSecondsAreKept) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    FakeMachine machine(seed, 0.1);
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> uniform(0, 1);
    Allowance allowance(5'000'000'000, machine.clock());
    const double off = 0.5 + 3.5 * uniform(random);
    int started = 0;
    for (int i = 0; i < 2000; ++i) {
      const double seconds = std::pow(10, -3 + 2.8 * uniform(random));
      const Effort effort{i % 2 == 0 ? seconds / off / 2 : 0, seconds / off / (i % 2 + 1)};
      if (!allowance.Affords(effort)) continue;
      const double all = effort.expecting + effort.running;
      allowance.Spend(effort, [&] { return machine.Work(all * off * 1e6), 0; });
      ++started;
    }
    EXPECT_GT(started, 10);
    EXPECT_LE(machine.now_ns(), 5'500'000'000) << seed;
    EXPECT_GE(machine.now_ns(), 4'500'000'000) << seed;
  }
}

TEST(DeadlineTest, ACandidateIsGivenUpAndNothingIsSaidOfIt) {
  const CpuDevice device(std::make_shared<ThreadPool>(1));
  FakeMachine machine(1, 0);
  Variants() = {.machine = &machine, .us = {100, 900'000}};
  MeasureOptions options = OnMachine(machine);
  options.deadline_ns = 1'000'000'000;
  Bench bench(device, options);
  EXPECT_EQ(bench.Run(FakeCandidates()[0]).status, Row::Status::kOk);
  const Row late = bench.Run(FakeCandidates()[1]);
  EXPECT_EQ(late.status, Row::Status::kStopped);
  EXPECT_EQ(late.samples, 0);
  EXPECT_EQ(late.reason, "out of time");
  EXPECT_LE(machine.now_ns(), 2'000'000'000);
  EXPECT_GT(bench.Guess(FakeCandidates()[1], 900'000).running, 5);
}

}  // namespace
}  // namespace fettle::tuner
