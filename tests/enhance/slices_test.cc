// Slices of frames, and what the detector of small phones sees in them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "alert/detector.h"
#include "tests/enhance/alert_frames.h"

namespace fettle::enhance {
namespace {

TEST(Slices, CoverEveryPixelAndOverlap) {
  for (const auto& [width, height] :
       {std::pair{1, 1}, {31, 33}, {352, 224}, {353, 225}, {640, 360}, {1023, 577}, {1920, 1080}}) {
    const SliceGrid grid = SlicesOf(width, height);
    EXPECT_EQ(grid.width % 4, 0);
    EXPECT_EQ(grid.height % 4, 0);
    EXPECT_LE(grid.width, 352);
    EXPECT_LE(grid.height, 224);
    std::vector<int> columns(static_cast<size_t>(width)), rows(static_cast<size_t>(height));
    for (const auto [x, y] : grid.places) {
      EXPECT_EQ(x % 4, 0);
      EXPECT_EQ(y % 4, 0);
      EXPECT_LT(x, width);
      EXPECT_LT(y, height);
      EXPECT_TRUE(x == 0 || x + grid.width < width + 4);
      EXPECT_TRUE(y == 0 || y + grid.height < height + 4);
      for (int i = x; i < std::min(width, x + grid.width); ++i) ++columns[static_cast<size_t>(i)];
      for (int i = y; i < std::min(height, y + grid.height); ++i) ++rows[static_cast<size_t>(i)];
    }
    EXPECT_GT(std::ranges::min(columns), 0) << width;
    EXPECT_GT(std::ranges::min(rows), 0) << height;
    // What is at most 40 pixels long lies whole in one slice.
    const auto whole = [&](int at, int SliceGrid::Place::*begin, int size, int length) {
      return std::ranges::any_of(grid.places, [&](const SliceGrid::Place& place) {
        return place.*begin <= at && std::min(at + 40, length) <= place.*begin + size;
      });
    };
    for (int x = 0; x < width; ++x)
      EXPECT_TRUE(whole(x, &SliceGrid::Place::x, grid.width, width)) << width << " " << x;
    for (int y = 0; y < height; ++y)
      EXPECT_TRUE(whole(y, &SliceGrid::Place::y, grid.height, height)) << height << " " << y;
  }
}

TEST(Slices, ReadTheFramesOwnSamples) {
  const SliceGrid grid = SlicesOf(400, 34);
  ASSERT_EQ(grid.places.size(), 2u);
  for (const AVPixelFormat format : {AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV422P, AV_PIX_FMT_YUV444P10,
                                     AV_PIX_FMT_YUV411P, AV_PIX_FMT_GRAY8}) {
    const FramePtr frame = Flat(format, 400, 34, 51);
    const int shift = PlaneOf(*frame, 0).depth - 8;
    const auto set = [&](int plane, int x, int y, int level) {
      ForSampleType(shift + 8, [&](auto sample) {
        PlaneOf(*frame, plane).row<decltype(sample)>(y)[x] =
            static_cast<decltype(sample)>(level << shift);
      });
    };
    const auto place = grid.places[1];
    set(0, place.x + 3, 5, 255);
    std::vector<float> luma(static_cast<size_t>(grid.width) * grid.height);
    ReadLuma(*frame, grid, place, luma.data());
    EXPECT_FLOAT_EQ(luma[static_cast<size_t>(5) * grid.width + 3], 1);
    EXPECT_FLOAT_EQ(luma[0], 0.2f);
    EXPECT_FLOAT_EQ(luma.back(), 0.2f);
    std::vector<float> chroma(luma.size() / 2);
    ReadChroma(*frame, grid, place, chroma.data());
    const float plain = format == AV_PIX_FMT_GRAY8 ? 128.0f / 255 : 0.2f;
    EXPECT_FLOAT_EQ(chroma.front(), plain);
    EXPECT_FLOAT_EQ(chroma.back(), plain);
  }
}

TEST(Peaks, AreFoundOnceAndWhereTheyAre) {
  const SliceGrid grid{32, 32, {}};
  std::vector<float> values(size_t{5} * 8 * 8, -9.0f);
  std::fill(values.begin() + 64, values.end(), 0.0f);
  const auto cell = [&](int plane, int row, int column) -> float& {
    return values[static_cast<size_t>(64 * plane + 8 * row + column)];
  };
  cell(0, 2, 3) = cell(0, 2, 4) = 2;  // equal neighbours are one
  cell(0, 7, 7) = 1;
  cell(1, 2, 3) = 0.5f;  // 8 wide
  cell(2, 2, 3) = 1;     // 16 high
  cell(3, 2, 3) = 0.25f;
  cell(4, 2, 3) = -0.5f;
  std::vector<Find> finds;
  AppendPeaks(values.data(), grid, {100, 40}, 0.5f, finds);
  ASSERT_EQ(finds.size(), 2u);
  EXPECT_FLOAT_EQ(finds[0].box.x, 100 + 4 * 3.75f - 4);
  EXPECT_FLOAT_EQ(finds[0].box.y, 40 + 4 * 2.0f - 8);
  EXPECT_FLOAT_EQ(finds[0].box.width, 8);
  EXPECT_FLOAT_EQ(finds[0].box.height, 16);
  EXPECT_NEAR(finds[0].score, 0.8808f - 0.2f, 1e-4f);  // 8 pixels more than what lacks nothing
  EXPECT_NEAR(finds[1].score, 0.7311f, 1e-4f);
  finds.clear();
  AppendPeaks(values.data(), grid, {0, 0}, 0.7f, finds);
  ASSERT_EQ(finds.size(), 1u);
  EXPECT_NEAR(finds[0].score, 0.7311f, 1e-4f);
  cell(0, 0, 0) = NAN;
  EXPECT_THROW(AppendPeaks(values.data(), grid, {0, 0}, 0.5f, finds), Failure);
}

TEST(Detector, TakesFramesOfAnySizeAndDepth) {
  const Network& network = *FindNetwork("alert", "best", 8);
  for (const auto& [format, width, height] : {std::tuple{AV_PIX_FMT_YUV420P, 1, 1},
                                              {AV_PIX_FMT_YUV444P10, 37, 23},
                                              {AV_PIX_FMT_GRAY8, 400, 5},
                                              {AV_PIX_FMT_YUV420P, 641, 361}}) {
    const FramePtr frame = Flat(format, width, height, 110);
    Detector detector(network, width, height, 0.01f);
    for (const auto& [box, score] : detector.Look(*frame)) {
      EXPECT_GE(box.x, 0);
      EXPECT_GE(box.y, 0);
      EXPECT_LE(box.x + box.width, static_cast<float>(width));
      EXPECT_LE(box.y + box.height, static_cast<float>(height));
    }
  }
}

}  // namespace
}  // namespace fettle::enhance
