// What steps for people hide, and that no colour of theirs surrounds them.
#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "people/blur.h"
#include "people/outline.h"
#include "steps/step.h"
#include "tests/enhance/people_frames.h"

namespace fettle::enhance {
namespace {

int SampleAt(const Plane& plane, int x, int y) {
  return plane.depth > 8 ? plane.row<uint16_t>(y)[x] : plane.row<uint8_t>(y)[x];
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
