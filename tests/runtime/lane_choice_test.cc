// Sessions take as many lanes as are faster, on machines whose times are made up.
#include "runtime/lane_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

namespace fettle::runtime {
namespace {

/// Nanoseconds of a run on so many lanes.
using Machine = std::function<double(int lanes)>;

/// What so many runs take on average, over what they would on `best` lanes.
double Overhead(LaneChoice& choice, const Machine& machine, int runs, int best) {
  double sum = 0;
  for (int run = 0; run < runs; ++run) {
    const double ns = machine(choice.lanes());
    sum += ns / machine(best);
    choice.Add(std::llround(ns));
  }
  return sum / runs;
}

double Scales(int lanes) { return 1e6 / lanes; }

TEST(LaneChoice, TakesAllWhereTheyAreOfUse) {
  for (int threads : {2, 3, 4, 16}) {
    LaneChoice choice(threads);
    EXPECT_EQ(choice.lanes(), threads);
    EXPECT_LT(Overhead(choice, Scales, 1000, threads), 1.015) << threads;
    EXPECT_LT(Overhead(choice, Scales, 10000, threads), 1.002) << threads;
  }
}

TEST(LaneChoice, LeavesABusyCoreAndComesBack) {
  const Machine busy = [](int lanes) { return lanes == 1 ? 1e6 : 1.4e6; };
  LaneChoice choice(2);
  (void)Overhead(choice, Scales, 200, 2);
  (void)Overhead(choice, busy, 400, 1);
  EXPECT_EQ(choice.lanes(), 1);
  EXPECT_LT(Overhead(choice, busy, 2000, 1), 1.012);
  (void)Overhead(choice, Scales, 800, 2);
  EXPECT_EQ(choice.lanes(), 2);
}

TEST(LaneChoice, FindsTheNumberBetween) {
  // Each lane costs as much as waking it: 4 are best of 16.
  const Machine machine = [](int lanes) { return 1e5 / lanes + 6e3 * lanes; };
  LaneChoice choice(16);
  (void)Overhead(choice, machine, 2000, 4);
  EXPECT_EQ(choice.lanes(), 4);
}

TEST(LaneChoice, NoiseCostsLittle) {
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> noise(0, 0.1);
  const Machine noisy = [&](int lanes) { return Scales(lanes) * noise(random); };
  LaneChoice choice(2);
  (void)Overhead(choice, noisy, 1000, 2);
  double sum = 0;
  constexpr int kRuns = 20000;
  for (int run = 0; run < kRuns; ++run) {
    sum += Scales(choice.lanes()) / Scales(2);
    choice.Add(std::llround(noisy(choice.lanes())));
  }
  EXPECT_LT(sum / kRuns, 1.005);
}

TEST(LaneChoice, OneThreadHasNoChoice) {
  LaneChoice choice(1);
  EXPECT_EQ(Overhead(choice, Scales, 100, 1), 1);
  EXPECT_EQ(choice.lanes(), 1);
}

TEST(RunLanes, OtherShapesAreOtherWork) {
  const std::vector<Tensor> small = {Tensor::Create(DType::kF32, Shape{1}).value()};
  const std::vector<Tensor> large = {Tensor::Create(DType::kF32, Shape{1000}).value()};
  RunLanes lanes(2, /*adapts=*/true);
  // Every other run takes 100 times as long. By times alone one lane would look like either.
  for (int run = 0; run < 2000; ++run) {
    const bool is_small = run % 2 == 0;
    EXPECT_EQ(lanes.Begin(is_small ? small : large), 2);
    lanes.End(is_small ? 10000 : 1000000, 5);
  }
}

TEST(RunLanes, AllWhereItDoesNotAdapt) {
  RunLanes lanes(2, /*adapts=*/false);
  for (int run = 0; run < 2000; ++run) {
    const int now = lanes.Begin({});
    EXPECT_EQ(now, 2);
    lanes.End(now * 1000, 5);
  }
}

}  // namespace
}  // namespace fettle::runtime
