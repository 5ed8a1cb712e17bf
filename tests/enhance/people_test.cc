// Where people are: maps, the network that makes them, and how they travel with frames.
#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/scene.h"
#include "people/matting.h"
#include "people/tracker.h"
#include "tests/enhance/people_frames.h"

namespace fettle::enhance {
namespace {

TEST(Maps, ReadMeansOfWhatTheyShrinkAndRepeatEnds) {
  const FramePtr frame =
      Drawn(AV_PIX_FMT_GRAY8, 6, 4, [](int, int x, int y) { return 10 * x + 40 * (y / 2); });
  std::vector<float> values;
  ReadAt(PlaneOf(*frame, 0), 3, 2, values);
  for (int y = 0; y < 2; ++y)
    for (int x = 0; x < 3; ++x)
      EXPECT_NEAR(255 * values[static_cast<size_t>(3 * y + x)], 20 * x + 5 + 40 * y, 1e-3);
  const FramePtr dot = Drawn(AV_PIX_FMT_GRAY8, 1, 1, [](int, int, int) { return 77; });
  ReadAt(PlaneOf(*dot, 0), 32, 16, values);
  for (const float value : values) EXPECT_NEAR(255 * value, 77, 1e-3);
}

TEST(Maps, GrowByARadiusWithinTheirSides) {
  Map map = Blob(9, 7, 4, 3, 5, 4);
  Grow(map, 2);
  EXPECT_EQ(map, Blob(9, 7, 2, 1, 7, 6));
  Grow(map, 20);
  EXPECT_EQ(map, Blob(9, 7, 0, 0, 9, 7));
}

TEST(Maps, TurnByQuarters) {
  const Map map{3, 2, {1, 2, 3, 4, 5, 6}};
  EXPECT_EQ(Turned(map, 1), (Map{2, 3, {4, 1, 5, 2, 6, 3}}));
  EXPECT_EQ(Turned(map, 2), (Map{3, 2, {6, 5, 4, 3, 2, 1}}));
  for (const int quarters : {0, 1, 2, 3})
    EXPECT_EQ(Turned(Turned(map, quarters), (4 - quarters) % 4), map);
}

TEST(Matting, SeesTurnedFramesUpright) {
  const FramePtr upright = Drawn(AV_PIX_FMT_YUV444P, 64, 96, Speckle);
  for (const int quarters : {1, 2, 3}) {
    const bool swapped = quarters != 2;
    const FramePtr laid = Drawn(AV_PIX_FMT_YUV444P, swapped ? 96 : 64, swapped ? 64 : 96,
                                [&](int plane, int x, int y) {
                                  return quarters == 1   ? Speckle(plane, 63 - y, x)
                                         : quarters == 2 ? Speckle(plane, 63 - x, 95 - y)
                                                         : Speckle(plane, y, 95 - x);
                                });
    const Matte one = Matting(false, 0).Of(*upright), other = Matting(false, quarters).Of(*laid);
    ASSERT_EQ(one.person.values.size(), other.person.values.size());
    for (size_t i = 0; i < one.person.values.size(); ++i)
      ASSERT_NEAR(one.person.values[i], other.person.values[i], 1) << quarters << ' ' << i;
  }
}

TEST(Matting, TakesSizesThatItsNetworkCan) {
  for (const auto& [width, height] :
       {std::pair{640, 480}, {1, 1}, {4098, 2}, {2, 4098}, {1080, 1920}}) {
    const auto [across, down] = MatteSizeOf(width, height);
    EXPECT_EQ(across % 16 + down % 16, 0);
    EXPECT_GE(std::min(across, down), 16);
    EXPECT_LE(std::max(across, down), 512);
  }
}

TEST(People, AreCoveredBeforeTheyAreFound) {
  const Map nobody = Nothing(64, 48), person = Blob(64, 48, 8, 8, 30, 48);
  const Matte now{nobody, nobody}, later{person, nobody};
  const People people = PeopleFilter().Next(now, {&now, &later}, true);
  EXPECT_TRUE(Covers(people.cover, person));
  EXPECT_TRUE(Covers(people.heads, Blob(64, 48, 8, 8, 30, 16)));
  EXPECT_EQ(people.person, nobody);
}

TEST(People, TravelWithTheFrameBesideItsScene) {
  const FramePtr frame = Drawn(AV_PIX_FMT_YUV420P, 40, 30, Speckle);
  SceneTracker().Add(*frame);
  const Scene scene = SceneOf(*frame);
  EXPECT_FALSE(BringsPeople(*frame));
  const People people{Blob(32, 16, 1, 2, 9, 9), Blob(32, 16, 0, 0, 12, 12),
                      Blob(32, 16, 3, 2, 5, 4)};
  AttachPeople(*frame, people);
  EXPECT_EQ(SceneOf(*frame).light, scene.light);
  const FramePtr copy = NewFrameLike(*frame, 80, 60);
  ASSERT_TRUE(BringsPeople(*copy));
  EXPECT_EQ(PeopleOf(*copy).person, people.person);
  EXPECT_EQ(PeopleOf(*copy).cover, people.cover);
  EXPECT_EQ(PeopleOf(*copy).heads, people.heads);
}

TEST(People, OfAFrameBetweenAreThoseOfBothSides) {
  const FramePtr a = Drawn(AV_PIX_FMT_YUV420P, 40, 30, Speckle);
  const FramePtr b = Drawn(AV_PIX_FMT_YUV420P, 40, 30, Speckle);
  const FramePtr made = Drawn(AV_PIX_FMT_YUV420P, 40, 30, Speckle);
  const Map left = Blob(32, 16, 1, 2, 9, 9), right = Blob(32, 16, 20, 2, 30, 9);
  AttachBoth(*made, *a, *b);
  EXPECT_FALSE(BringsPeople(*made));
  AttachPeople(*a, Somewhere(32, 16, left));
  AttachPeople(*b, Somewhere(32, 16, right));
  AttachBoth(*made, *a, *b);
  EXPECT_TRUE(Covers(PeopleOf(*made).cover, left));
  EXPECT_TRUE(Covers(PeopleOf(*made).heads, right));
}

TEST(PeopleTracker, GivesAllFramesInOrderAndTheSameOnesAgain) {
  const auto run = [] {
    PeopleTracker tracker(false, 0);
    SceneTracker scenes;
    std::vector<FramePtr> given;
    const auto give = [&](FramePtr frame) { given.push_back(std::move(frame)); };
    for (int i = 0; i < 11; ++i) {
      FramePtr frame = Drawn(AV_PIX_FMT_YUV420P, 50, 40,
                             [&](int plane, int x, int y) { return Speckle(plane, x + i, y); });
      frame->pts = i;
      scenes.Add(*frame);
      tracker.Add(std::move(frame), give);
      EXPECT_EQ(given.size(), static_cast<size_t>(std::max(0, i + 1 - int{PeopleTracker::kAhead})));
    }
    tracker.Finish(give);
    return given;
  };
  const std::vector<FramePtr> one = run(), other = run();
  ASSERT_EQ(one.size(), 11u);
  for (size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i]->pts, static_cast<int64_t>(i));
    ASSERT_TRUE(BringsPeople(*one[i]));
    EXPECT_EQ(PeopleOf(*one[i]).person, PeopleOf(*other[i]).person);
    EXPECT_EQ(PeopleOf(*one[i]).cover, PeopleOf(*other[i]).cover);
  }
}

}  // namespace
}  // namespace fettle::enhance
