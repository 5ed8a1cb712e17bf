// People in frames: what covers hold, that no colour of theirs surrounds them, and what steps leave
// alone.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "analysis/scene.h"
#include "people/blur.h"
#include "people/outline.h"
#include "people/tracker.h"
#include "steps/step.h"

namespace fettle::enhance {
namespace {

using Pixel = std::function<int(int plane, int x, int y)>;  // in levels of 8 bits

FramePtr Drawn(AVPixelFormat format, int width, int height, const Pixel& value) {
  FramePtr frame = NewFrame(format, width, height);
  for (int plane = 0; plane < PlaneCount(*frame); ++plane) {
    const Plane to = PlaneOf(*frame, plane);
    ForSampleType(to.depth, [&](auto sample) {
      for (int y = 0; y < to.height; ++y)
        for (int x = 0; x < to.width; ++x)
          to.row<decltype(sample)>(y)[x] =
              static_cast<decltype(sample)>(value(plane, x, y) << (to.depth - 8));
    });
  }
  return frame;
}

int SampleAt(const Plane& plane, int x, int y) {
  return plane.depth > 8 ? plane.row<uint16_t>(y)[x] : plane.row<uint8_t>(y)[x];
}

int Speckle(int plane, int x, int y) { return (x * 7919 + y * 104729 + x * y * 31 + plane) % 256; }

Map Blob(int width, int height, int left, int top, int right, int bottom) {
  Map map{width, height, std::vector<uint8_t>(static_cast<size_t>(width) * height)};
  for (int y = top; y < bottom; ++y)
    for (int x = left; x < right; ++x) map.values[static_cast<size_t>(y) * width + x] = 255;
  return map;
}

Map Nothing(int width, int height) { return Blob(width, height, 0, 0, 0, 0); }

bool Covers(const Map& cover, const Map& map) {
  for (size_t i = 0; i < map.values.size(); ++i)
    if (map.values[i] != 0 && cover.values[i] == 0) return false;
  return true;
}

People Somewhere(int width, int height, const Map& map) {
  EXPECT_EQ(map.width, width);
  EXPECT_EQ(map.height, height);
  return {map, map, map};
}

FramePtr ByStep(std::string_view name, const AVFrame& frame) {
  const ChainLink link = ReadChain(name).front();
  FramePtr copy(av_frame_clone(&frame));
  return link.row
      ->make({.format = static_cast<AVPixelFormat>(frame.format),
              .width = frame.width,
              .height = frame.height,
              .strength = link.strength})
      ->Apply(std::move(copy));
}

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

TEST(Hold, CoversWhatWasMissedForAsLongAsItSays) {
  const Map person = Blob(48, 32, 10, 8, 22, 32), nobody = Nothing(48, 32);
  Hold hold;
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(Covers(hold.Add(person, i == 0), person));
  EXPECT_FALSE(hold.lost());
  for (int i = 0; i < Hold::kLostFrames + Hold::kHeldFrames; ++i)
    EXPECT_TRUE(Covers(hold.Add(nobody, false), person)) << i;
  Map cover = person;
  for (int i = 0; i < 2; ++i) cover = hold.Add(nobody, false);
  EXPECT_EQ(cover, nobody);  // and no longer
}

TEST(Hold, GrowsWhereAllWasLostAtOnce) {
  const Map person = Blob(48, 32, 10, 8, 22, 30);
  Hold hold;
  for (int i = 0; i < 5; ++i) hold.Add(person, false);
  Map cover;
  for (int i = 0; i < 8; ++i) cover = hold.Add(Nothing(48, 32), false);
  EXPECT_TRUE(hold.lost());
  EXPECT_TRUE(Covers(cover, Blob(48, 32, 8, 6, 24, 32)));
}

TEST(Hold, KeepsCoveringAfterACut) {
  const Map person = Blob(48, 32, 10, 8, 22, 32);
  Hold hold;
  for (int i = 0; i < 5; ++i) hold.Add(person, false);
  for (int i = 0; i < Hold::kHeldFrames; ++i)
    EXPECT_TRUE(Covers(hold.Add(Nothing(48, 32), i == 0), person));
  EXPECT_FALSE(hold.lost());
}

TEST(Hold, MissesOfHalfOfAPersonRevealNobody) {
  std::mt19937 random(7);
  Hold hold;
  const Map person = Blob(64, 36, 20, 6, 40, 36);
  hold.Add(person, true);
  for (int i = 0; i < 300; ++i) {
    Map found = person;
    const int kind = static_cast<int>(random() % 4);  // whole, upper half, lower half, nobody
    for (int y = 0; y < 36; ++y)
      if (kind == 3 || (kind == 1 && y > 18) || (kind == 2 && y <= 18))
        std::fill_n(found.values.begin() + y * 64, 64, uint8_t{0});
    EXPECT_TRUE(Covers(hold.Add(found, false), person)) << i;
    if (i % Hold::kHeldFrames == 0) hold.Add(person, false);
  }
}

TEST(Heads, AreThoughtOutWhereNoneWasFound) {
  Map people = Blob(60, 40, 5, 10, 15, 40);
  for (int y = 0; y < 20; ++y) people.values[static_cast<size_t>(y) * 60 + 50] = 255;
  Map heads = Blob(60, 40, 50, 0, 51, 3);
  AddMissingHeads(people, heads);
  EXPECT_TRUE(Covers(heads, Blob(60, 40, 5, 10, 15, 18)));
  EXPECT_EQ(heads.values[30 * 60 + 10], 0);
  EXPECT_EQ(heads.values[10 * 60 + 50], 0);  // this one's was found
}

TEST(Hats, AreCoveredAboveWhatWasFoundAndInItsGaps) {
  Map cover = Blob(60, 60, 20, 30, 44, 60);  // 24 wide: 8 up
  for (int y = 30; y < 36; ++y) std::fill_n(cover.values.begin() + y * 60 + 28, 6, uint8_t{0});
  CoverHats(cover);
  EXPECT_TRUE(Covers(cover, Blob(60, 60, 20, 22, 44, 60)));
  EXPECT_EQ(cover.values[21 * 60 + 30], 0);
  EXPECT_EQ(cover.values[40 * 60 + 19] + cover.values[40 * 60 + 44], 0);  // no wider
}

TEST(Hats, LeaveTheRoomBetweenPeopleAndAboveFlatThings) {
  Map cover = Blob(60, 40, 2, 10, 10, 40);
  for (int y = 10; y < 40; ++y) std::fill_n(cover.values.begin() + y * 60 + 50, 8, uint8_t{255});
  std::fill_n(cover.values.begin() + 39 * 60, 60, uint8_t{255});  // one piece by what they stand on
  CoverHats(cover);
  EXPECT_EQ(cover.values[20 * 60 + 30], 0);
  Map flat = Blob(60, 40, 0, 38, 60, 40);
  CoverHats(flat);
  EXPECT_EQ(flat, Blob(60, 40, 0, 38, 60, 40));
  Map nobody = Nothing(8, 8);
  CoverHats(nobody);
  EXPECT_EQ(nobody, Nothing(8, 8));
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

TEST(Outline, FollowsTheEdgeThatTheMapIsTooCoarseFor) {
  const FramePtr frame =
      Drawn(AV_PIX_FMT_GRAY8, 200, 64, [](int, int x, int) { return x < 103 ? 30 : 200; });
  Outline outline;
  Map alpha;
  outline.Fit(Blob(20, 6, 0, 0, 10, 6), PlaneOf(*frame, 0), alpha);  // ends at 100
  for (const int x : {60, 90, 101}) EXPECT_GT(alpha.values[static_cast<size_t>(32 * 200 + x)], 180);
  for (const int x : {105, 120, 160})
    EXPECT_LT(alpha.values[static_cast<size_t>(32 * 200 + x)], 75);
}

TEST(Backdrop, TakesNoColourOfPeople) {
  const auto inside = [](int x, int y) { return x >= 40 && x < 80 && y >= 20; };
  const FramePtr frame = Drawn(AV_PIX_FMT_GRAY8, 121, 77, [&](int, int x, int y) {
    return inside(x, y) ? Speckle(0, x, y) : 50;
  });
  const FramePtr before(av_frame_clone(frame.get()));
  const FramePtr after = NewFrameLike(*frame, 121, 77);
  ASSERT_GE(av_frame_copy(after.get(), frame.get()), 0);
  Map alpha = Blob(121, 77, 40, 20, 80, 77);
  const Plane plane = PlaneOf(*after, 0);
  Backdrop().Blur(alpha, 6, plane);
  for (int y = 0; y < 77; ++y)
    for (int x = 0; x < 121; ++x) {
      if (inside(x, y)) {
        EXPECT_EQ(SampleAt(plane, x, y), Speckle(0, x, y));
      } else {
        EXPECT_NEAR(SampleAt(plane, x, y), 50, 1) << x << ' ' << y;
      }
    }
}

TEST(Backdrop, SmoothsTheRoomAndBytesAgreeWithDeeperSamples) {
  const FramePtr bytes = Drawn(AV_PIX_FMT_YUV420P, 90, 60, Speckle);
  const FramePtr words = Drawn(AV_PIX_FMT_YUV420P10, 90, 60, Speckle);
  const People nobody = Somewhere(48, 32, Nothing(48, 32));
  AttachPeople(*bytes, nobody);
  AttachPeople(*words, nobody);
  const FramePtr one = ByStep("background-blur", *bytes);
  const FramePtr other = ByStep("background-blur", *words);
  for (int index = 0; index < 3; ++index) {
    const Plane a = PlaneOf(*one, index), b = PlaneOf(*other, index);
    int least = 255, most = 0;
    for (int y = 0; y < a.height; ++y)
      for (int x = 0; x < a.width; ++x) {
        EXPECT_NEAR(SampleAt(a, x, y), SampleAt(b, x, y) / 4.0, 0.76);
        least = std::min(least, SampleAt(a, x, y));
        most = std::max(most, SampleAt(a, x, y));
      }
    EXPECT_LT(most - least, 130);  // of 255
  }
}

TEST(Mosaic, LeavesOneValueInABlockAndAllElseAlone) {
  const FramePtr frame = Drawn(AV_PIX_FMT_GRAY10, 37, 29, Speckle);
  const FramePtr before = Drawn(AV_PIX_FMT_GRAY10, 37, 29, Speckle);
  const Map covered = Blob(37, 29, 9, 3, 30, 29);
  const Plane plane = PlaneOf(*frame, 0), source = PlaneOf(*before, 0);
  Mosaic(covered, 8, 8, plane);
  for (int y = 0; y < 29; ++y)
    for (int x = 0; x < 37; ++x) {
      const size_t i = static_cast<size_t>(y) * 37 + x;
      if (covered.values[i] == 0) {
        EXPECT_EQ(SampleAt(plane, x, y), SampleAt(source, x, y));
      } else if (x % 8 != 0 && x > 9) {
        EXPECT_EQ(SampleAt(plane, x, y), SampleAt(plane, x - 1, y));
      }
    }
}

TEST(Mosaic, HasFewBlocksOnAHead) {
  const Map heads = Blob(240, 160, 100, 10, 160, 90), people = Blob(240, 160, 60, 10, 200, 160);
  EXPECT_GE(BlockSide(people, heads, 960, 640), 60 * 4 / 3);
  EXPECT_GE(BlockSide(Nothing(240, 160), Nothing(240, 160), 960, 640), 20);
  EXPECT_GE(BlockSide(Nothing(16, 16), Nothing(16, 16), 1, 1), 8);
}

TEST(PeopleSteps, TakeAnyFrame) {
  for (const auto& [width, height] : {std::pair{1, 1}, {3, 5}, {1, 33}, {65, 2}, {70, 50}})
    for (const AVPixelFormat format : {AV_PIX_FMT_GRAY8, AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUVA420P,
                                       AV_PIX_FMT_YUV422P10, AV_PIX_FMT_YUV444P16})
      for (const char* name : {"background-blur", "privacy", "privacy-head"}) {
        const FramePtr frame = Drawn(format, width, height, Speckle);
        const FramePtr result = ByStep(name, *frame);
        EXPECT_EQ(result->width, width);
        EXPECT_EQ(result->format, format);
        EXPECT_TRUE(BringsPeople(*result));
        for (int index = 3; index < PlaneCount(*frame); ++index)  // alpha
          EXPECT_EQ(SampleAt(PlaneOf(*result, index), 0, 0),
                    SampleAt(PlaneOf(*frame, index), 0, 0));
      }
}

TEST(PeopleSteps, HideWhatIsCoveredAndKeepTheRoom) {
  const FramePtr frame = Drawn(AV_PIX_FMT_YUV420P, 96, 64, Speckle);
  AttachPeople(*frame, Somewhere(48, 32, Blob(48, 32, 0, 0, 16, 32)));
  const FramePtr result = ByStep("privacy", *frame);
  const Plane luma = PlaneOf(*result, 0), source = PlaneOf(*frame, 0);
  for (int y = 0; y < 64; ++y) {
    for (int x = 1; x < 8; ++x) EXPECT_EQ(SampleAt(luma, x, y), SampleAt(luma, 0, y));
    for (int x = 40; x < 96; ++x) EXPECT_EQ(SampleAt(luma, x, y), SampleAt(source, x, y));
  }
}

TEST(PeopleSteps, PassFramesAtAStrengthOfNothing) {
  const FramePtr frame = Drawn(AV_PIX_FMT_YUV420P, 32, 32, Speckle);
  EXPECT_EQ(ByStep("background-blur=0", *frame)->data[0], frame->data[0]);
}

}  // namespace
}  // namespace fettle::enhance
