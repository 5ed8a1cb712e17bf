// Whole frames made of two fields: what stands still keeps its lines, what moves has no combs, and
// every frame comes out once, in order, with what was told of it.
#include "picture/deinterlacer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <tuple>

#include "picture/samples.h"
#include "steps/step.h"

namespace fettle::enhance {
namespace {

using Level = std::function<double(double x, int y)>;
enum class Marks { kNone, kTopFirst, kBottomFirst };

void Mark(AVFrame& frame, Marks marks) {
  ClearInterlaced(frame);
  if (marks == Marks::kNone) return;
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(58, 7, 100)
  frame.flags |= AV_FRAME_FLAG_INTERLACED;
  if (marks == Marks::kTopFirst) frame.flags |= AV_FRAME_FLAG_TOP_FIELD_FIRST;
#else
  frame.interlaced_frame = 1;
  frame.top_field_first = marks == Marks::kTopFirst;
#endif
}

/// Lines of the second field show what is `field` samples further.
FramePtr Woven(AVPixelFormat format, int width, int height, const Level& level, double moved,
               double field, Marks marks = Marks::kTopFirst) {
  FramePtr frame = NewFrame(format, width, height);
  for (int plane = 0; plane < PlaneCount(*frame); ++plane) {
    const Plane to = PlaneOf(*frame, plane);
    ForSampleType(to.depth, [&](auto sample) {
      for (int y = 0; y < to.height; ++y) {
        const bool second = y % 2 == (marks == Marks::kBottomFirst ? 0 : 1);
        for (int x = 0; x < to.width; ++x)
          to.row<decltype(sample)>(y)[x] = static_cast<decltype(sample)>(
              std::lround(level(x - moved - (second ? field : 0), y) * (1 << (to.depth - 8))));
      }
    });
  }
  Mark(*frame, marks);
  return frame;
}

/// Of luma, in levels of 8 bits.
double MeanSquare(const AVFrame& a, const AVFrame& b) {
  const Plane one = PlaneOf(a, 0), other = PlaneOf(b, 0);
  double sum = 0;
  ForSampleType(one.depth, [&](auto sample) {
    using Sample = decltype(sample);
    for (int y = 0; y < one.height; ++y)
      for (int x = 0; x < one.width; ++x)
        sum += std::pow((one.row<Sample>(y)[x] - other.row<Sample>(y)[x]) /
                            static_cast<double>(1 << (one.depth - 8)),
                        2);
  });
  return sum / (one.width * one.height);
}
double Decibels(const AVFrame& a, const AVFrame& b) {
  return 10 * std::log10(255 * 255 / std::max(MeanSquare(a, b), 1e-9));
}

/// Lines of the first field, each twice.
FramePtr LinesTwice(const AVFrame& frame, bool top_first) {
  FramePtr twice = NewFrameLike(frame, frame.width, frame.height);
  for (int plane = 0; plane < PlaneCount(frame); ++plane) {
    const Plane from = PlaneOf(frame, plane), to = PlaneOf(*twice, plane);
    const int bytes = from.width * (from.depth > 8 ? 2 : 1);
    for (int y = 0; y < from.height; ++y) {
      const int first = std::min(y - y % 2 + (top_first ? 0 : 1), from.height - 1);
      std::copy_n(from.row<uint8_t>(first), bytes, to.row<uint8_t>(y));
    }
  }
  return twice;
}

double Waves(double x, int y) {
  return 120 + 60 * std::sin(x * 0.3) + 30 * std::sin(y * 0.4 + x * 0.1);
}
/// Thin lines: what a field alone cannot know.
double Lines(double, int y) { return y % 8 == 3 ? 40 : 200; }
/// Slanted edges, at the ends of what samples hold.
double Edges(double x, int y) { return std::fmod(x + 0.5 * y + 320, 32) < 16 ? 0 : 255; }

std::vector<FramePtr> Made(Deinterlacer& fields, std::vector<FramePtr> frames) {
  SilenceAv();
  std::vector<FramePtr> made;
  const auto add = [&](FramePtr frame) {
    if (frame != nullptr) made.push_back(std::move(frame));
  };
  for (FramePtr& frame : frames) add(fields.Next(std::move(frame)));
  add(fields.Finish());
  return made;
}

constexpr AVPixelFormat kFormats[] = {
    AV_PIX_FMT_YUV420P,    AV_PIX_FMT_YUV422P10,  AV_PIX_FMT_YUV444P12, AV_PIX_FMT_GRAY8,
    AV_PIX_FMT_GRAY10,     AV_PIX_FMT_YUV444P16,  AV_PIX_FMT_YUVA420P,  AV_PIX_FMT_YUVA422P12,
    AV_PIX_FMT_YUVA444P10, AV_PIX_FMT_YUVA444P12, AV_PIX_FMT_YUV411P};

TEST(Deinterlacer, KeepsAllLinesOfWhatStandsStill) {
  for (const AVPixelFormat format : kFormats) {
    Deinterlacer fields(false);
    const auto frame = [&] { return Woven(format, 64, 48, Lines, 0, 0); };
    std::vector<FramePtr> frames;
    for (int i = 0; i < 3; ++i) frames.push_back(frame());
    for (const FramePtr& made : Made(fields, std::move(frames))) {
      EXPECT_LT(MeanSquare(*made, *frame()), 0.01) << av_get_pix_fmt_name(format);
      EXPECT_EQ(made->format, format);
      EXPECT_FALSE(IsInterlaced(*made));
    }
  }
}

TEST(Deinterlacer, MakesWhatMovesWithoutCombsFromTheFirstFrameToTheLast) {
  for (const AVPixelFormat format : kFormats)
    for (const Marks marks : {Marks::kTopFirst, Marks::kBottomFirst})
      for (const int height : {48, 51}) {
        SCOPED_TRACE(testing::Message() << av_get_pix_fmt_name(format) << " of " << height
                                        << " lines, top first: " << (marks == Marks::kTopFirst));
        const auto frame = [&](int i, double field) {
          return Woven(format, 64, height, Waves, 6 * i, field, marks);
        };
        std::vector<FramePtr> frames;
        for (int i = 0; i < 5; ++i) frames.push_back(frame(i, 3));
        Deinterlacer fields(false);
        const std::vector<FramePtr> made = Made(fields, std::move(frames));
        ASSERT_EQ(made.size(), 5);
        for (int i = 0; i < 5; ++i) {
          const FramePtr whole = frame(i, 0), twice = LinesTwice(*whole, marks == Marks::kTopFirst);
          EXPECT_LT(Decibels(*frame(i, 3), *whole), 20);
          EXPECT_GT(Decibels(*made[i], *whole), Decibels(*twice, *whole) + 3) << "frame " << i;
        }
      }
}

TEST(Deinterlacer, HoldsNoSampleAboveItsDepth) {
  for (const AVPixelFormat format : {AV_PIX_FMT_GRAY10, AV_PIX_FMT_YUV420P10}) {
    std::vector<FramePtr> frames;
    for (int i = 0; i < 4; ++i) frames.push_back(Woven(format, 64, 48, Edges, 6 * i, 3));
    Deinterlacer fields(false);
    for (const FramePtr& made : Made(fields, std::move(frames)))
      for (int y = 0; y < made->height; ++y)
        for (int x = 0; x < made->width; ++x)
          ASSERT_LT(PlaneOf(*made, 0).row<uint16_t>(y)[x], 1024);
  }
}

TEST(Deinterlacer, GivesEveryFrameOnceWithWhatWasToldOfIt) {
  // The second frame is whole, and shown longer.
  for (const int count : {0, 1, 2, 3, 7}) {
    std::vector<FramePtr> frames;
    for (int i = 0; i < count; ++i) {
      frames.push_back(Woven(AV_PIX_FMT_YUV420P, 64, 48, Waves, 6 * i, 3,
                             i == 1 ? Marks::kNone : Marks::kTopFirst));
      frames[i]->pts = 100 + 3 * i;
      frames[i]->repeat_pict = i == 1;
      frames[i]->color_range = AVCOL_RANGE_JPEG;
      SetDuration(*frames[i], 3);
      ASSERT_NE(av_frame_new_side_data(frames[i].get(), AV_FRAME_DATA_A53_CC, 3), nullptr);
    }
    Deinterlacer fields(false);
    const std::vector<FramePtr> made = Made(fields, std::move(frames));
    ASSERT_EQ(made.size(), count);
    for (int i = 0; i < count; ++i) {
      EXPECT_EQ(made[i]->pts, 100 + 3 * i);
      EXPECT_EQ(DurationOf(*made[i]), 3);
      EXPECT_EQ(made[i]->nb_side_data, 1);
      EXPECT_EQ(made[i]->color_range, AVCOL_RANGE_JPEG);
      EXPECT_FALSE(IsInterlaced(*made[i]));
      const bool same =
          MeanSquare(*made[i], *Woven(AV_PIX_FMT_YUV420P, 64, 48, Waves, 6 * i, 3)) == 0;
      EXPECT_EQ(same, i == 1) << i;
    }
  }
}

TEST(Deinterlacer, TakesAnySizeAndFormatAndGoesOnAfterTheEnd) {
  Deinterlacer fields(true);
  for (const auto format : {AV_PIX_FMT_YUV444P, AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV440P10})
    for (const int width : {1, 2, 3, 6, 9})
      for (const int height : {1, 2, 3, 4, 5, 8, 9}) {
        std::vector<FramePtr> frames;
        for (int i = 0; i < 3; ++i) frames.push_back(Woven(format, width, height, Waves, i, 1));
        const std::vector<FramePtr> made = Made(fields, std::move(frames));
        ASSERT_EQ(made.size(), 3);
        for (const FramePtr& frame : made) EXPECT_EQ(frame->height, height);
      }
}

TEST(Deinterlacer, BeginsAnewWhereTheSizeIsAnother) {
  std::vector<FramePtr> frames;
  for (const auto& [width, height] : {std::tuple(32, 64), std::tuple(64, 32), std::tuple(64, 32)})
    frames.push_back(Woven(AV_PIX_FMT_YUV420P, width, height, Waves, 0, 3));
  Deinterlacer fields(false);
  const std::vector<FramePtr> made = Made(fields, std::move(frames));
  ASSERT_EQ(made.size(), 3);
  EXPECT_EQ(made[0]->height, 64);
  EXPECT_EQ(made[1]->height, 32);
}

TEST(Deinterlacer, HasNoCombsInOneFrameAlone) {
  const auto frame = [](double field) {
    return Woven(AV_PIX_FMT_YUV420P10, 64, 48, Waves, 0, field);
  };
  std::vector<FramePtr> frames;
  frames.push_back(frame(3));
  Deinterlacer fields(false);
  const std::vector<FramePtr> made = Made(fields, std::move(frames));
  ASSERT_EQ(made.size(), 1);
  EXPECT_GT(Decibels(*made[0], *frame(0)), Decibels(*frame(3), *frame(0)) + 10);
}

TEST(Deinterlacer, LeavesFramesThatNobodyMarkedButAtStrengthTwo) {
  const auto unmarked = [] { return Woven(AV_PIX_FMT_YUV420P, 64, 48, Waves, 0, 3, Marks::kNone); };
  const StepSetup first{.format = AV_PIX_FMT_YUV420P, .width = 64, .height = 48};
  std::vector<std::atomic<int64_t>> nanoseconds(1);
  const auto apart = [&](const char* steps, StepSetup setup) {
    Chain chain(ReadChain(steps), setup, nanoseconds);
    return MeanSquare(*chain.Apply(unmarked()), *unmarked());
  };
  EXPECT_EQ(apart("deinterlace", first), 0);
  EXPECT_GT(apart("deinterlace=2", first), 25);
  StepSetup done = first;
  done.whole_frames = true;
  EXPECT_EQ(apart("deinterlace=2", done), 0);
  for (const bool all : {false, true}) {
    std::vector<FramePtr> frames;
    for (int i = 0; i < 3; ++i) frames.push_back(unmarked());
    Deinterlacer fields(all);
    // What stands still keeps its lines.
    for (const FramePtr& made : Made(fields, std::move(frames)))
      EXPECT_EQ(MeanSquare(*made, *unmarked()), 0);
  }
}

TEST(Deinterlacer, ComesFirstInAChain) {
  EXPECT_NO_THROW((void)ReadChain("deinterlace,superres,interpolate"));
  for (const char* steps : {"superres,deinterlace", "deinterlace,deinterlace"})
    EXPECT_THROW((void)ReadChain(steps), Failure) << steps;
  EXPECT_FALSE(DeinterlacerOf(ReadChain("superres")));
  EXPECT_TRUE(DeinterlacerOf(ReadChain("deinterlace,superres")));
}

}  // namespace
}  // namespace fettle::enhance
