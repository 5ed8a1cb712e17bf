// Networks chosen again, by a clock that the tests move.
#include "job/pace.h"

#include <gtest/gtest.h>

namespace fettle::enhance {
namespace {

const Pace kPace{.wanted = 25, .candidates = {{"fast", 50}, {"good", 36}, {"best", 26}}};

TEST(Pace, StaysWhileTheRateIsKept) {
  EXPECT_EQ(kPace.After("best", 250, 10.0), "best");
  EXPECT_EQ(kPace.After("best", 250, 10.4), "best");  // 24.0: noise
  EXPECT_EQ(kPace.After("fast", 250, 9.0), "fast");   // as slow as wanted: nothing wider would do
}

TEST(Pace, TakesTheWidestThatASlowerMachineStillDoes) {
  EXPECT_EQ(kPace.After("best", 250, 12.0), "good");  // 0.80 of what was timed: good 28.8
  EXPECT_EQ(kPace.After("best", 250, 16.0), "fast");  // 0.60: good 21.6, fast 30
  EXPECT_EQ(kPace.After("good", 250, 40.0), "fast");  // 0.17: nothing does it, so the fastest
  EXPECT_EQ(kPace.After("fast", 250, 40.0), "fast");
}

TEST(Pace, GoesBackWithRoomOnly) {
  EXPECT_EQ(kPace.After("fast", 250, 5.0), "good");  // best would do 26 of the 27.5 that it takes
  EXPECT_EQ(kPace.After("fast", 250, 4.7), "best");  // 1.06 of what was timed: best 27.7
  EXPECT_EQ(kPace.After("good", 250, 6.9), "good");  // best 26.2
}

TEST(Pace, LeavesUnknownAndUntimedAlone) {
  EXPECT_EQ(Pace{}.After("best", 250, 1000), "best");
  EXPECT_EQ(kPace.After("other", 250, 1000), "other");
  EXPECT_EQ(kPace.After("best", 0, 0), "best");
}

TEST(Pace, ASlowMachineThatRecoversIsFollowed) {
  // Segments of 250 frames on a machine of this share of its speed.
  std::string network = "best";
  std::vector<std::string> seen;
  for (const double speed : {1.0, 0.5, 0.5, 0.75, 1.0, 1.3, 1.3}) {
    double timed = 0;
    for (const Candidate& one : kPace.candidates)
      if (one.network == network) timed = one.fps;
    network = kPace.After(network, 250, 250 / (timed * speed));
    seen.push_back(network);
  }
  EXPECT_EQ(seen,
            (std::vector<std::string>{"best", "fast", "fast", "fast", "good", "best", "best"}));
}

TEST(Schedule, FramesThatWereBegunKeepTheirNetwork) {
  Schedule schedule("best");
  EXPECT_EQ(schedule.Take(4), "best");
  EXPECT_EQ(schedule.Change("fast"), 5);
  EXPECT_EQ(schedule.Take(3), "best");  // another thread, late
  EXPECT_EQ(schedule.Take(5), "fast");
  EXPECT_EQ(schedule.NetworkOf(4), "best");
  EXPECT_EQ(schedule.latest(), "fast");
  EXPECT_EQ(schedule.Change("good"), 6);
  EXPECT_EQ(schedule.NetworkOf(5), "fast");
  EXPECT_EQ(schedule.Take(9), "good");
}

}  // namespace
}  // namespace fettle::enhance
