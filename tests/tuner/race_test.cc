// The statistics of measuring, on a machine with noise and drops of its clock.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/tuner/fake_kernel.h"
#include "tests/tuner/groups.h"

namespace fettle::tuner {
namespace {

const CpuDevice& OneThread() {
  static const CpuDevice device(std::make_shared<ThreadPool>(1));
  return device;
}

std::vector<Row> RaceOn(FakeMachine& machine, std::vector<double> us, uint64_t seed = 1) {
  Variants() = {.machine = &machine, .us = std::move(us)};
  return Bench(OneThread(), OnMachine(machine, seed)).Race(FakeCandidates());
}

TEST(RaceTest, EachRowIsATimeOrAStop) {
  FakeMachine machine(1, 0.01);
  const std::vector<Row> rows = RaceOn(machine, {100, 50, 300, 52});
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(Pick(rows), 1);
  EXPECT_EQ(rows[0].status, Row::Status::kOk);
  EXPECT_NEAR(rows[0].median_us, 100, 5);
  EXPECT_NEAR(rows[1].median_us, 50, 1);
  EXPECT_EQ(rows[2].status, Row::Status::kStopped);
  EXPECT_GT(rows[2].low_us, 50);
  EXPECT_LE(rows[2].low_us, 310);
  EXPECT_GT(rows[1].samples, rows[2].samples);
}

TEST(RaceTest, ARematchTellsWhatDifferentTimesHide) {
  FakeMachine machine(1, 0.02);
  Variants() = {.machine = &machine, .us = {50, 52, 75}};
  // The second one met a slow machine when it was measured, the first and third one a fast one.
  const Row known[] = {{.median_us = 40, .low_us = 39, .samples = 5},
                       {.median_us = 104, .low_us = 100, .samples = 5},
                       {.median_us = 40, .low_us = 39, .samples = 5}};
  const std::vector<Row> rows =
      Bench(TestDevice(), OnMachine(machine)).Rematch(FakeCandidates(), known);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_NEAR(rows[0].median_us, 40, 1e-9);  // the speed of then
  EXPECT_NEAR(rows[1].median_us, 40 * 1.04, 1.5);
  EXPECT_NEAR(rows[2].median_us, 40 * 1.5, 3);
  for (const Row& row : rows) EXPECT_EQ(row.status, Row::Status::kOk);
}

TEST(RaceTest, EqualCandidatesLeaveTheSaferOne) {
  int safer = 0;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    FakeMachine machine(seed, 0.02);
    safer += Pick(RaceOn(machine, {100, 100, 100}, seed)) == 0 ? 1 : 0;
  }
  EXPECT_GE(safer, 45);
}

/// Ten candidates, several of them close; the default is any of them. Noise of 10 %, and a clock
/// that drops at some time for some time.
TEST(RaceTest, ThePickIsNearTheBestInNoiseAndAcrossClockDrops) {
  int near = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> uniform(0, 1);
    const double best = 50 + 350 * uniform(random);
    std::vector<double> us{best};
    for (int i = 0; i < 3; ++i) us.push_back(best * (1 + 0.08 * uniform(random)));
    for (int i = 0; i < 6; ++i) us.push_back(best * (1 + 2 * uniform(random)));
    std::shuffle(us.begin(), us.end(), random);
    FakeMachine machine(seed, 0.1);
    machine.DropClock(static_cast<int64_t>(120e6 * uniform(random)),
                      static_cast<int64_t>(5e6 + 100e6 * uniform(random)),
                      1.1 + 0.5 * uniform(random));
    const int pick = Pick(RaceOn(machine, us, seed));
    ASSERT_GE(pick, 0);
    near += us[static_cast<size_t>(pick)] <= 1.03 * best ? 1 : 0;
  }
  EXPECT_GE(near, 190);
  RecordProperty("near", near);
}

TEST(RaceTest, TimesReferToOneClock) {
  FakeMachine machine(1, 0.02);
  Variants() = {.machine = &machine, .us = {100}};
  Bench bench(OneThread(), OnMachine(machine));
  const double before = bench.Run(FakeCandidates()[0]).median_us;
  machine.DropClock(machine.now_ns(), int64_t{1} << 40, 1.5);
  const double after = bench.Run(FakeCandidates()[0]).median_us;
  EXPECT_NEAR(after / before, 1, 0.04);
}

TEST(RaceTest, AFastButWrongKernelNeverWins) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    FakeMachine machine(seed, 0.1);
    Variants() = {.machine = &machine,
                  .us = {100, 10, 90, 5, 1},
                  .forgets_relu = {1},
                  .writes_behind = {3},
                  .fails = {4}};
    const std::vector<Row> rows = Bench(OneThread(), OnMachine(machine)).Race(FakeCandidates());
    EXPECT_EQ(Pick(rows), 2);
    EXPECT_EQ(rows[1].status, Row::Status::kWrong);
    EXPECT_THAT(rows[1].reason, testing::HasSubstr("noise inputs, output 0:"));
    EXPECT_THAT(rows[1].reason, testing::HasSubstr("expected 0, got -"));
    EXPECT_EQ(rows[3].status, Row::Status::kWrong);
    EXPECT_THAT(rows[3].reason, testing::HasSubstr("wrote next to the memory of output 0"));
    EXPECT_EQ(rows[4].status, Row::Status::kFailed);
    EXPECT_THAT(rows[4].reason, testing::HasSubstr("variant 4 fails"));
  }
}

TEST(RaceTest, NothingWinsWhereNothingWorks) {
  FakeMachine machine(1, 0);
  Variants() = {.machine = &machine, .us = {1, 1}, .forgets_relu = {0}, .fails = {1}};
  EXPECT_EQ(Pick(Bench(OneThread(), OnMachine(machine)).Race(FakeCandidates())), -1);
  EXPECT_EQ(Pick({}), -1);
}

TEST(RunTest, StopsWhatIsSlowerThanTheLimit) {
  FakeMachine machine(1, 0.05);
  Variants() = {.machine = &machine, .us = {100, 1000}};
  Bench bench(OneThread(), OnMachine(machine));
  const Row slow = bench.Run(FakeCandidates()[1], 100);
  EXPECT_EQ(slow.status, Row::Status::kStopped);
  EXPECT_LE(slow.samples, 3);
  EXPECT_THAT(slow.reason, testing::HasSubstr("slower than 100"));
  EXPECT_EQ(bench.Run(FakeCandidates()[0], 100).status, Row::Status::kOk);
}

TEST(RunTest, KeepsItsTime) {
  FakeMachine machine(1, 0.1);
  Variants() = {.machine = &machine, .us = {20, 3000, 400'000}};
  Bench bench(OneThread(), OnMachine(machine));
  const double limits_ms[] = {14, 40, 3000};
  for (size_t i = 0; i < 3; ++i) {
    const int64_t begin = machine.now_ns();
    EXPECT_EQ(bench.Run(FakeCandidates()[i]).status, Row::Status::kOk);
    EXPECT_LE(static_cast<double>(machine.now_ns() - begin) * 1e-6, limits_ms[i]) << i;
  }
}

}  // namespace
}  // namespace fettle::tuner
