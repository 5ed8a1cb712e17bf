// Whole frames made of two fields: what stands still keeps its lines, what moves has no combs.
#include "picture/fields.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "picture/samples.h"
#include "steps/step.h"

namespace fettle::enhance {
namespace {

using Level = std::function<double(double x, int y)>;

/// Lines of the second field show what is `moved` samples further.
FramePtr Woven(AVPixelFormat format, int width, int height, const Level& level, double moved,
               double field, bool top_first = true) {
  FramePtr frame = NewFrame(format, width, height);
  for (int plane = 0; plane < PlaneCount(*frame); ++plane) {
    const Plane to = PlaneOf(*frame, plane);
    ForSampleType(to.depth, [&](auto sample) {
      for (int y = 0; y < to.height; ++y) {
        const bool second = y % 2 == (top_first ? 1 : 0);
        for (int x = 0; x < to.width; ++x)
          to.row<decltype(sample)>(y)[x] = static_cast<decltype(sample)>(
              std::lround(level(x - moved - (second ? field : 0), y) * (1 << (to.depth - 8))));
      }
    });
  }
  SetInterlaced(*frame, true, top_first);
  return frame;
}

double Apart(const AVFrame& a, const AVFrame& b) {
  const Plane one = PlaneOf(a, 0), other = PlaneOf(b, 0);
  double sum = 0;
  ForSampleType(one.depth, [&](auto sample) {
    using Sample = decltype(sample);
    for (int y = 0; y < one.height; ++y)
      for (int x = 0; x < one.width; ++x)
        sum += std::abs(one.row<Sample>(y)[x] - other.row<Sample>(y)[x]);
  });
  return sum / (one.width * one.height) / (1 << (one.depth - 8));
}

double Waves(double x, int y) { return 120 + 90 * std::sin(x * 0.4) + 3 * std::sin(y * 0.9); }
/// Thin lines: what a field alone cannot know.
double Lines(double, int y) { return y % 8 == 3 ? 40 : 200; }

TEST(Fields, ThatStandStillKeepAllLines) {
  for (const AVPixelFormat format : {AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV422P10, AV_PIX_FMT_GRAY8}) {
    Deinterlacer fields(false);
    const auto frame = [&] { return Woven(format, 64, 48, Lines, 0, 0); };
    (void)fields.Next(frame());
    const FramePtr made = fields.Next(frame());
    EXPECT_EQ(Apart(*made, *frame()), 0);
    EXPECT_FALSE(IsInterlaced(*made));
  }
}

TEST(Fields, ThatMoveHaveNoCombs) {
  for (const AVPixelFormat format : {AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV420P10}) {
    for (const bool top_first : {true, false}) {
      Deinterlacer fields(false);
      const auto frame = [&](double moved) {
        return Woven(format, 64, 48, Waves, moved, 3, top_first);
      };
      const FramePtr alone = fields.Next(frame(0)), made = fields.Next(frame(6));
      const FramePtr whole = Woven(format, 64, 48, Waves, 6, 0);
      EXPECT_GT(Apart(*frame(6), *whole), 20);
      EXPECT_LT(Apart(*made, *whole), 1) << "top first: " << top_first;
      EXPECT_LT(Apart(*alone, *Woven(format, 64, 48, Waves, 0, 0)), 2);
    }
  }
}

TEST(Fields, OfAnySizeAreMade) {
  for (const int width : {1, 2, 3, 5, 6, 7, 9})
    for (const int height : {1, 2, 3, 4, 5}) {
      Deinterlacer fields(true);
      (void)fields.Next(Woven(AV_PIX_FMT_YUV444P, width, height, Waves, 0, 1));
      const FramePtr made = fields.Next(Woven(AV_PIX_FMT_YUV444P, width, height, Waves, 1, 1));
      EXPECT_EQ(made->width, width);
    }
}

TEST(Fields, OfAnotherSizeThanBeforeAreAlone) {
  Deinterlacer fields(false);
  (void)fields.Next(Woven(AV_PIX_FMT_YUV420P, 32, 64, Lines, 0, 0));
  EXPECT_EQ(fields.Next(Woven(AV_PIX_FMT_YUV420P, 64, 32, Waves, 0, 3))->height, 32);
}

TEST(Fields, AreLeftWhereNobodySaysSoButAtStrengthTwo) {
  const auto unmarked = [] {
    FramePtr frame = Woven(AV_PIX_FMT_YUV420P, 64, 48, Waves, 0, 3);
    SetInterlaced(*frame, false);
    return frame;
  };
  const StepSetup first{.format = AV_PIX_FMT_YUV420P, .width = 64, .height = 48};
  std::vector<std::atomic<int64_t>> nanoseconds(1);
  const auto apart = [&](const char* steps, StepSetup setup) {
    Chain chain(ReadChain(steps), setup, nanoseconds);
    return Apart(*chain.Apply(unmarked()), *unmarked());
  };
  EXPECT_EQ(apart("deinterlace", first), 0);
  EXPECT_GT(apart("deinterlace=2", first), 5);
  StepSetup done = first;
  done.whole_frames = true;
  EXPECT_EQ(apart("deinterlace=2", done), 0);
}

TEST(Fields, ComeFirstInAChain) {
  EXPECT_NO_THROW((void)ReadChain("deinterlace,superres,interpolate"));
  for (const char* steps : {"superres,deinterlace", "deinterlace,deinterlace"})
    EXPECT_THROW((void)ReadChain(steps), Failure) << steps;
  EXPECT_FALSE(DeinterlacerOf(ReadChain("superres")));
  EXPECT_TRUE(DeinterlacerOf(ReadChain("deinterlace,superres")));
}

}  // namespace
}  // namespace fettle::enhance
