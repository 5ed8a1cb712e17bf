#include "tuner/measure/statistics.h"

#include <gtest/gtest.h>

#include <random>

namespace fettle::tuner {
namespace {

TEST(SummariseTest, SaysNothingWithoutSamples) {
  const Summary summary = Summarise({});
  EXPECT_EQ(summary.samples, 0);
  EXPECT_EQ(summary.median, 0);
  EXPECT_EQ(summary.error(), 0);
}

TEST(SummariseTest, FewSamplesAreBoundedByTheirExtremes) {
  const double samples[] = {5, 1, 3, 2, 100};
  const Summary summary = Summarise(samples);
  EXPECT_EQ(summary.median, 3);
  EXPECT_EQ(summary.mad, 2);
  EXPECT_EQ(summary.low, 1);
  EXPECT_EQ(summary.high, 100);
}

TEST(SummariseTest, EvenCountsTakeTheMiddleOfTwo) {
  const double samples[] = {4, 1, 3, 2};
  EXPECT_EQ(Summarise(samples).median, 2.5);
  EXPECT_EQ(Median({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(Median({7}), 7);
}

TEST(SummariseTest, BoundsHoldTheTrueMedianAsOftenAsTheySay) {
  std::mt19937 random(1);
  std::lognormal_distribution<double> skewed(0, 0.5);  // median 1
  for (const auto& [sureness, least] : {std::pair{kSure95, 940}, std::pair{kSure99, 985}}) {
    for (const int count : {8, 9, 20, 55, 200}) {
      int held = 0;
      for (int trial = 0; trial < 1000; ++trial) {
        std::vector<double> samples;
        for (int i = 0; i < count; ++i) samples.push_back(skewed(random));
        const Summary summary = Summarise(samples, sureness);
        held += summary.low <= 1 && 1 <= summary.high ? 1 : 0;
      }
      EXPECT_GE(held, least) << count << " samples, sureness " << sureness;
    }
  }
}

TEST(SummariseTest, ErrorShrinksWithTheRootOfTheSamples) {
  std::vector<double> samples{1, 2, 3, 4, 5};
  const double few = Summarise(samples).error();
  for (int i = 0; i < 3; ++i) samples.insert(samples.end(), {1, 2, 3, 4, 5});
  EXPECT_NEAR(Summarise(samples).error(), few / 2, 1e-9);
}

}  // namespace
}  // namespace fettle::tuner
