// Frames made between two: what moves is half way, what stands still stays, cuts are not crossed.
#include "motion/between.h"

#include <gtest/gtest.h>

#include <cmath>

#include "analysis/scene.h"

namespace fettle::enhance {
namespace {

/// A texture without repetition that has moved by `moved` samples, a caption at its top left.
FramePtr Picture(AVPixelFormat format, double moved) {
  FramePtr frame = NewFrame(format, 160, 96);
  for (int plane = 0; plane < PlaneCount(*frame); ++plane) {
    const Plane to = PlaneOf(*frame, plane);
    const int shrink = plane > 0 && to.width < frame->width ? 2 : 1;
    ForSampleType(to.depth, [&](auto sample) {
      for (int y = 0; y < to.height; ++y)
        for (int x = 0; x < to.width; ++x) {
          const double at = shrink * x - moved, down = shrink * y;
          double level = 120 + 40 * std::sin(at * 0.13 + down * 0.021) +
                         30 * std::sin(down * 0.17 - at * 0.05);
          if (plane == 0 && x >= 8 && x < 40 && y >= 8 && y < 24)
            level = (x / 2 + y / 4) % 2 ? 235 : 16;
          to.row<decltype(sample)>(y)[x] =
              static_cast<decltype(sample)>(std::lround(level * (1 << (to.depth - 8))));
        }
    });
  }
  return frame;
}

double Apart(const AVFrame& a, const AVFrame& b, int plane, int border) {
  const Plane one = PlaneOf(a, plane), other = PlaneOf(b, plane);
  double sum = 0;
  int count = 0;
  for (int y = border; y < one.height - border; ++y)
    for (int x = border; x < one.width - border; ++x, ++count)
      sum += one.depth > 8 ? std::abs(one.row<uint16_t>(y)[x] - other.row<uint16_t>(y)[x]) / 4.0
                           : std::abs(one.row<uint8_t>(y)[x] - other.row<uint8_t>(y)[x]);
  return sum / count;
}

TEST(Between, MovesHalfWayAndLeavesCaptions) {
  for (const AVPixelFormat format : {AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV444P10})
    for (const double moved : {1.0, 5.0, 14.0}) {
      const FramePtr a = Picture(format, 0), b = Picture(format, moved);
      Between between;
      const FramePtr made = between.Make(*a, *b);
      EXPECT_EQ(between.kind(), PairKind::kMoved);
      const FramePtr wanted = Picture(format, moved / 2);
      EXPECT_LT(Apart(*made, *wanted, 0, 16), 2.5) << moved;
      EXPECT_LT(Apart(*made, *wanted, 1, 8), 1.5) << moved;
      const Plane before = PlaneOf(*a, 0), after = PlaneOf(*made, 0);
      for (int y = 8; y < 24; ++y)
        for (int x = 8; x < 40; ++x) {
          const bool words = before.depth > 8;
          ASSERT_EQ(words ? before.row<uint16_t>(y)[x] : before.row<uint8_t>(y)[x],
                    words ? after.row<uint16_t>(y)[x] : after.row<uint8_t>(y)[x])
              << moved << " at " << x << ", " << y;
        }
    }
}

TEST(Between, RepeatsWhatIsRepeatedAndDoesNotCrossCuts) {
  const FramePtr a = Picture(AV_PIX_FMT_YUV420P, 0), same = Picture(AV_PIX_FMT_YUV420P, 0);
  Between between;
  EXPECT_EQ(between.Make(*a, *same)->data[0], a->data[0]);
  EXPECT_EQ(between.kind(), PairKind::kRepeated);
  SceneTracker scenes;
  const FramePtr dark = Picture(AV_PIX_FMT_YUV420P, 40);
  for (int y = 0; y < dark->height; ++y) std::fill_n(PlaneOf(*dark, 0).row<uint8_t>(y), 160, 20);
  scenes.Add(*a);
  scenes.Add(*dark);
  EXPECT_EQ(between.Make(*a, *dark)->data[0], a->data[0]);
  EXPECT_EQ(between.kind(), PairKind::kCut);
}

TEST(Between, TakesAnySize) {
  for (const auto& [width, height] : {std::pair(1, 1), {7, 200}, {33, 17}}) {
    const FramePtr a = NewFrame(AV_PIX_FMT_YUV420P, width, height);
    const FramePtr b = NewFrame(AV_PIX_FMT_YUV420P, width, height);
    for (int plane = 0; plane < 3; ++plane)
      for (int y = 0; y < PlaneOf(*a, plane).height; ++y)
        for (int x = 0; x < PlaneOf(*a, plane).width; ++x) {
          PlaneOf(*a, plane).row<uint8_t>(y)[x] = static_cast<uint8_t>(90 + x + y);
          PlaneOf(*b, plane).row<uint8_t>(y)[x] = static_cast<uint8_t>(110 + x + y);
        }
    const FramePtr made = Between().Make(*a, *b);
    EXPECT_GE(made->data[0][0], 90);
    EXPECT_LE(made->data[0][0], 110);
  }
}

}  // namespace
}  // namespace fettle::enhance
