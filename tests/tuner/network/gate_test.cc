#include "tuner/network/gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tuner/fake_machine.h"

namespace fettle::tuner {
namespace {

/// A whole-network run that takes `us` on `machine`.
std::function<Status()> Network(FakeMachine& machine, double us) {
  return [&machine, us] {
    machine.Work(us);
    return OkStatus();
  };
}

GateResult Judge(FakeMachine& machine, double incumbent_us, double challenger_us,
                 GateOptions options = {}) {
  options.now_ns = machine.clock();
  return RunGate(Network(machine, incumbent_us), Network(machine, challenger_us), options).value();
}

TEST(GateTest, AcceptsWhatIsFasterSoonWhereItIsClear) {
  FakeMachine machine(1, 0.02);
  const GateResult result = Judge(machine, 1000, 800);
  EXPECT_TRUE(result.accepted) << result.reason;
  EXPECT_EQ(result.pairs, 8);
  EXPECT_NEAR(result.incumbent_us, 1000, 50);
  EXPECT_NEAR(result.challenger_us, 800, 40);
  EXPECT_LE(result.low, result.ratio);
  EXPECT_GE(result.high, result.ratio);
  EXPECT_LT(result.high, 1);
}

TEST(GateTest, GoesOnUntilTheFigureIsAsSureAsIsAskedFor) {
  FakeMachine machine(1, 0.1), other(1, 0.1);
  const GateResult verdict = Judge(machine, 1000, 700, {.seconds = 10});
  const GateResult figure = Judge(other, 1000, 700, {.sure_within = 0.05, .seconds = 10});
  EXPECT_TRUE(verdict.accepted && figure.accepted);
  EXPECT_GT(verdict.high - verdict.low, 0.05);
  EXPECT_LE(figure.high - figure.low, 0.05);
  EXPECT_NEAR(figure.pair_ratio, 0.7, 0.03);
}

TEST(GateTest, PairsKnowTheRatioWhereTheClockChangesBetweenThem) {
  FakeMachine machine(1, 0.01);
  // Half of the time: the median of each side is of one speed or of the other.
  machine.DropClock(20'000'000, 60'000'000, 1.5);
  const GateResult result = Judge(machine, 1000, 900, {.sure_within = 1e-9, .seconds = 0.1});
  EXPECT_NEAR(result.pair_ratio, 0.9, 0.005) << result.ratio;
}

TEST(GateTest, BeginsNoPairThatDoesNotEndInTime) {
  FakeMachine machine(1, 0);
  const GateResult result = Judge(machine, 300'000, 200'000, {.seconds = 1.4, .warms_up = false});
  EXPECT_EQ(result.pairs, 2);
  EXPECT_LE(machine.now_ns(), 1'400'000'000);
  EXPECT_FALSE(result.accepted);
}

TEST(GateTest, RejectsWhatGainsTooLittle) {
  FakeMachine machine(1, 0.002);
  const GateResult result = Judge(machine, 1000, 996);
  EXPECT_FALSE(result.accepted);
  EXPECT_THAT(result.reason, testing::HasSubstr("not 1.0 % faster"));
}

TEST(GateTest, EqualPlansHardlyEverPass) {
  int accepted = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    FakeMachine machine(seed, 0.1);
    accepted += Judge(machine, 1000, 1000, {.seed = seed}).accepted ? 1 : 0;
  }
  EXPECT_LE(accepted, 6);
}

TEST(GateTest, RealGainsPassInNoiseAndAcrossAClockDrop) {
  int accepted = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    FakeMachine machine(seed, 0.1);
    machine.DropClock(20'000'000, 1'000'000'000, 1.5);
    accepted += Judge(machine, 1000, 900, {.seed = seed}).accepted ? 1 : 0;
  }
  EXPECT_GE(accepted, 190);
}

/// Alone, each step of the challenger is faster; one after the other they evict each other's data,
/// which no isolated time shows.
TEST(GateTest, RejectsAPlanWhoseIsolatedTimesLie) {
  FakeMachine machine(1, 0.03);
  const double incumbent_steps[] = {300, 400, 300}, challenger_steps[] = {250, 350, 260};
  constexpr double kEvictionUs = 60;
  double incumbent_sum = 0, challenger_sum = 0;
  for (double us : incumbent_steps) incumbent_sum += us;
  for (double us : challenger_steps) challenger_sum += us;
  ASSERT_LT(challenger_sum, 0.9 * incumbent_sum) << "the prediction is a gain";
  const auto incumbent = [&] {
    for (double us : incumbent_steps) machine.Work(us);
    return OkStatus();
  };
  const auto challenger = [&] {
    for (double us : challenger_steps) machine.Work(us + kEvictionUs);
    return OkStatus();
  };
  const GateResult result = RunGate(incumbent, challenger, {.now_ns = machine.clock()}).value();
  EXPECT_FALSE(result.accepted) << result.reason;
  EXPECT_GT(result.ratio, 1);
}

TEST(GateTest, KeepsItsTime) {
  FakeMachine machine(1, 0.1);
  const GateResult result = Judge(machine, 100'000, 98'000, {.seconds = 3});
  EXPECT_LE(machine.now_ns(), 3'500'000'000);
  EXPECT_GT(result.pairs, 8);
}

TEST(GateTest, TooFewPairsAreNoVerdict) {
  FakeMachine machine(1, 0);
  const GateResult result = Judge(machine, 1'000'000, 500'000, {.seconds = 4});
  EXPECT_FALSE(result.accepted);
  EXPECT_THAT(result.reason, testing::HasSubstr("say too little"));
}

TEST(GateTest, AFailingRunIsNamed) {
  FakeMachine machine(1, 0);
  const auto fails = [] { return Unsupported("no such kernel"); };
  const Result<GateResult> result = RunGate(Network(machine, 1), fails, {});
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.status().message(), testing::HasSubstr("challenger: no such kernel"));
}

TEST(GateTest, TheRatioIsThatOfTheTimesAndLiesInItsInterval) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    FakeMachine machine(seed, 0.2);
    int runs = 0;
    const auto run = [&](double us) {
      return [&machine, us] {
        machine.Work(us);
        return OkStatus();
      };
    };
    GateOptions options{.seconds = 0.05, .seed = seed, .now_ns = machine.clock()};
    options.observe = [&](bool) { ++runs; };
    const GateResult result = RunGate(run(1000), run(980), options).value();
    EXPECT_EQ(result.ratio, result.challenger_us / result.incumbent_us);
    EXPECT_LE(result.low, result.ratio);
    EXPECT_GE(result.high, result.ratio);
    EXPECT_EQ(runs, 2 * result.pairs);
  }
}

}  // namespace
}  // namespace fettle::tuner
