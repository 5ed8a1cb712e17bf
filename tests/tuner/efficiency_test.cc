#include "tuner/cost/efficiency.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace fettle::tuner
