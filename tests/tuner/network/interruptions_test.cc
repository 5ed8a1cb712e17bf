#include "tuner/measure/interruptions.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/tuner/fake_kernel.h"
#include "tests/tuner/fake_machine.h"
#include "tests/tuner/groups.h"
#include "tuner/network/gate.h"

namespace fettle::tuner {
namespace {

/// A machine that does other work for 900 us in each of the first samples.
class BusyMachine {
 public:
  explicit BusyMachine(int interrupted) : interrupted_(interrupted) {}

  Result<double> Sample() {
    const int64_t begin = machine_.now_ns();
    machine_.Work(100);
    if (samples_++ < interrupted_) {
      machine_.Work(900 - 10.0 * samples_);
      ++interruptions_;
    }
    return static_cast<double>(machine_.now_ns() - begin) * 1e-3;
  }
  Result<UndisturbedTime> Time(int64_t patience_ns) {
    return TimeUndisturbed([this] { return Sample(); },
                           {machine_.clock(), [this] { return interruptions_; }, patience_ns});
  }
  int samples() const { return samples_; }

 private:
  FakeMachine machine_{1, 0};
  int interrupted_, samples_ = 0;
  int64_t interruptions_ = 0;
};

TEST(InterruptionsTest, ASampleThatWasNotInterruptedStands) {
  BusyMachine machine(0);
  EXPECT_EQ(machine.Time(5'000'000).value().us, 100);
  EXPECT_EQ(machine.samples(), 1);
}

TEST(InterruptionsTest, AnInterruptedSampleIsTakenAnew) {
  BusyMachine machine(3);
  EXPECT_EQ(machine.Time(5'000'000).value().us, 100);
  EXPECT_EQ(machine.samples(), 4);
}

TEST(InterruptionsTest, PatienceEndsAndTheLeastTimeStands) {
  BusyMachine machine(1000);
  EXPECT_NEAR(machine.Time(2'500'000).value().us, 100 + 900 - 30, 1e-9);
  EXPECT_EQ(machine.samples(), 3);
}

TEST(InterruptionsTest, WhereNobodyCountsNoTimeIsDoubted) {
  int samples = 0;
  const auto sample = [&]() -> Result<double> { return 10.0 * ++samples; };
  EXPECT_EQ(TimeUndisturbed(sample, {}).value().us, 10);
}

TEST(InterruptionsTest, FailuresEndTheTrial) {
  const auto sample = []() -> Result<double> { return Unsupported("broken"); };
  int64_t interruptions = 0;
  EXPECT_FALSE(
      TimeUndisturbed(sample, {[] { return int64_t{0}; }, [&] { return interruptions++; }, 1000})
          .ok());
}

TEST(InterruptionsTest, TheSystemsCountNeverFalls) {
  const int64_t before = Interruptions();
  EXPECT_GE(before, 0);
  EXPECT_GE(Interruptions(), before);
}

TEST(MusterTest, LanesLeaveWhenAllAreThere) {
  for (int64_t lanes : {1, 2, 4}) {
    Muster muster(lanes, {.cores = static_cast<int>(lanes)});
    std::atomic<int64_t> met = 0;
    std::vector<std::thread> threads;
    for (int64_t i = 0; i < lanes; ++i)
      threads.emplace_back([&] {
        muster.Meet();
        ++met;
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(met, lanes);
  }
}

TEST(MusterTest, ALaneThatNeverComesIsNotWaitedForForEver) {
  Muster muster(2, {.cores = 2});
  muster.Meet();
  Muster crowded(3, {.cores = 2});
  crowded.Meet();
}

/// Asked before and after each launch; two launches of three are interrupted and take ten times as
/// long.
class Interrupter {
 public:
  explicit Interrupter(FakeMachine& machine) : machine_(machine) {}

  int64_t operator()() {
    const bool before = asked_ % 2 == 0, interrupts = asked_ / 2 % 3 != 2;
    ++asked_;
    if (!interrupts) return interruptions_;
    if (before) machine_.DropClock(machine_.now_ns(), 1, 10);
    return before ? interruptions_ : ++interruptions_;
  }

 private:
  FakeMachine& machine_;
  int asked_ = 0;
  int64_t interruptions_ = 0;
};

TEST(InterruptionsTest, ABenchKeepsTimesOfUndisturbedLaunches) {
  FakeMachine machine(1, 0);
  Variants() = {.machine = &machine, .us = {50}};
  MeasureOptions options = OnMachine(machine);
  EXPECT_EQ(Bench(TestDevice(), options).Run(FakeCandidates()[0]).median_us, 50);
  options.interruptions = Interrupter(machine);
  const Row row = Bench(TestDevice(), options).Run(FakeCandidates()[0]);
  EXPECT_EQ(row.status, Row::Status::kOk) << row.reason;
  EXPECT_EQ(row.median_us, 50);
}

TEST(InterruptionsTest, AGateKeepsTimesOfUndisturbedRuns) {
  FakeMachine machine(1, 0);
  int runs = 0, observed = 0;
  const auto run = [&](double us) {
    return [&machine, &runs, us] {
      ++runs;
      machine.Work(us);
      return OkStatus();
    };
  };
  GateOptions options{.observe = [&](bool) { ++observed; },
                      .now_ns = machine.clock(),
                      .interruptions = Interrupter(machine),
                      .patience_ns = 50'000'000};
  const GateResult result = RunGate(run(1000), run(800), options).value();
  EXPECT_TRUE(result.accepted) << result.reason;
  EXPECT_EQ(result.incumbent_us, 1000);
  EXPECT_EQ(result.challenger_us, 800);
  EXPECT_EQ(observed, 2 * result.pairs);
  EXPECT_EQ(runs, 2 + 3 * observed);
  EXPECT_EQ(result.disturbed, 0);
}

}  // namespace
}  // namespace fettle::tuner
