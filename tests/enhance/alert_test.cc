// Slices, finds, votes, frames that are drawn, and the rows that they all go through.
#include <gtest/gtest.h>

#include <algorithm>

#include "alert/detector.h"
#include "alert/overlay.h"
#include "alert/trail.h"
#include "analysis/scene.h"

namespace fettle::enhance {
namespace {

Find FindAt(float x, float y, float score = 0.9f, float side = 10) {
  return {{x, y, side, side}, score};
}

FramePtr Flat(AVPixelFormat format, int width, int height, int level) {
  FramePtr frame = NewFrame(format, width, height);
  for (int index = 0; index < PlaneCount(*frame); ++index) {
    const Plane plane = PlaneOf(*frame, index);
    ForSampleType(plane.depth, [&](auto sample) {
      for (int y = 0; y < plane.height; ++y)
        std::fill_n(plane.row<decltype(sample)>(y), plane.width,
                    static_cast<decltype(sample)>(level << (plane.depth - 8)));
    });
  }
  return frame;
}

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
  EXPECT_NEAR(finds[0].score, 0.8808f, 1e-4f);
  finds.clear();
  AppendPeaks(values.data(), grid, {0, 0}, 0.8f, finds);
  EXPECT_EQ(finds.size(), 1u);
  cell(0, 0, 0) = NAN;
  EXPECT_THROW(AppendPeaks(values.data(), grid, {0, 0}, 0.5f, finds), Failure);
}

TEST(Finds, OfOneThingInTwoSlicesAreOne) {
  const auto kept = WithoutDoubles(
      {FindAt(100, 50, 0.7f), FindAt(102, 51, 0.9f), FindAt(108, 50, 0.6f), FindAt(300, 50, 0.5f)});
  ASSERT_EQ(kept.size(), 3u);  // 6 pixels from the best is more than half of its side
  EXPECT_FLOAT_EQ(kept[0].box.x, 102);
  EXPECT_FLOAT_EQ(kept[1].box.x, 108);
  EXPECT_FLOAT_EQ(kept[2].box.x, 300);
}

TEST(Finds, AreReadAsTheyWereWritten) {
  const std::string text = TextOf({FindAt(1.26f, 0), FindAt(639.9f, 359.9f, 0.5f)});
  EXPECT_EQ(text, "[[1.3,0.0,10.0,10.0,0.900],[639.9,359.9,10.0,10.0,0.500]]");
  EXPECT_EQ(TextOf(ReadFinds(text)), text);
  EXPECT_TRUE(ReadFinds("[]").empty());
  for (const char* bad : {"", "[", "{\"a\":1}", "[[1,2,3,4]]", "[[1,2,3,4,\"5\"]]", "[1,2,3,4,5]"})
    EXPECT_THROW(ReadFinds(bad), Failure) << bad;
}

TEST(Tracks, TellOfWhatIsSeenOftenEnough) {
  Tracks tracks({.seen = 3, .of = 5});
  const std::vector<Find> none;
  const auto moved = [](int step) {
    return std::vector{FindAt(100.0f + 4.0f * static_cast<float>(step), 50)};
  };
  tracks.Add(0, moved(0));
  tracks.Add(1, moved(1));
  EXPECT_TRUE(tracks.shown().empty());  // twice is not enough
  tracks.Add(2, none);
  tracks.Add(3, moved(3));
  ASSERT_EQ(tracks.shown().size(), 1u);
  EXPECT_FLOAT_EQ(tracks.shown()[0].x, 112);
  for (int i = 4; i < 20; ++i) tracks.Add(i, none);
  EXPECT_TRUE(tracks.shown().empty());
  tracks.Add(20, moved(0));  // another thing, and only once
  const std::vector<Alert> alerts = tracks.Finish();
  ASSERT_EQ(alerts.size(), 1u);
  EXPECT_EQ(alerts[0].id, 1);
  ASSERT_EQ(alerts[0].sightings.size(), 3u);
  EXPECT_EQ(alerts[0].sightings[0].frame, 0);
  EXPECT_EQ(alerts[0].sightings[2].time, 3);
}

TEST(Tracks, KeepTwoThingsApart) {
  Tracks tracks({.seen = 2, .of = 3});
  for (int i = 0; i < 10; ++i) {
    std::vector<Find> finds = {FindAt(100.0f + static_cast<float>(i), 50), FindAt(130, 50)};
    if (i % 2 == 1) std::swap(finds[0], finds[1]);
    tracks.Add(i, finds);
  }
  const std::vector<Alert> alerts = tracks.Finish();
  ASSERT_EQ(alerts.size(), 2u);
  for (const Alert& alert : alerts) {
    EXPECT_EQ(alert.sightings.size(), 10u);
    EXPECT_LT(std::abs(alert.sightings.back().find.box.x - alert.sightings.front().find.box.x), 10);
  }
}

TEST(Tracks, FlickerIsNoAlert) {
  Tracks tracks({.seen = 3, .of = 5});
  for (int i = 0; i < 60; ++i)  // at another place each time, or in every third frame
    tracks.Add(i, i % 3 == 0 ? std::vector{FindAt(60.0f * static_cast<float>(i % 7), 200),
                                           FindAt(500, 300)}
                             : std::vector<Find>{});
  EXPECT_TRUE(tracks.Finish().empty());
}

TEST(Tracks, BeginAnewAtCuts) {
  Tracks tracks({.seen = 3, .of = 5});
  for (int i = 0; i < 12; ++i) {
    if (i == 2 || i == 7) tracks.Cut();
    tracks.Add(i, {FindAt(100, 50)});
    // Twice before the first cut is not enough, nor is it with what follows.
    EXPECT_EQ(tracks.shown().size(), (i >= 4 && i < 7) || i >= 9 ? 1u : 0u) << i;
  }
  const std::vector<Alert> alerts = tracks.Finish();
  ASSERT_EQ(alerts.size(), 2u);  // one thing at one place, but two scenes
  EXPECT_EQ(alerts[0].sightings.front().frame, 2);
  EXPECT_EQ(alerts[0].sightings.back().frame, 6);
  EXPECT_EQ(alerts[1].sightings.front().frame, 7);
}

TEST(Overlay, FramesTheBoxAndNothingElse) {
  for (const AVPixelFormat format : {AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV444P10, AV_PIX_FMT_GRAY8}) {
    const FramePtr frame = Flat(format, 64, 48, 100);
    const FramePtr before(av_frame_clone(frame.get()));
    DrawBoxes(*frame, {{20, 16, 10, 8}}, 1, 1);
    const Plane plane = PlaneOf(*frame, 0);
    ForSampleType(plane.depth, [&](auto sample) {
      const auto at = [&](const AVFrame& from, int x, int y) {
        return PlaneOf(from, 0).row<decltype(sample)>(y)[x] >> (plane.depth - 8);
      };
      const int line = format == AV_PIX_FMT_GRAY8 ? 235 : 81;
      EXPECT_EQ(at(*frame, 18, 20), line);  // a line at one pixel's distance
      EXPECT_EQ(at(*frame, 31, 20), line);
      EXPECT_EQ(at(*frame, 25, 14), line);
      EXPECT_EQ(at(*frame, 25, 25), line);
      EXPECT_EQ(at(*frame, 25, 20), 100);
      EXPECT_EQ(at(*frame, 19, 20), 100);
      EXPECT_EQ(at(*frame, 17, 20), 100);
      EXPECT_EQ(at(*before, 18, 20), 100);  // another's pixels stay
    });
  }
}

TEST(Overlay, IsRedWhereverTheBoxStands) {
  for (int x = 20; x < 24; ++x)
    for (int y = 16; y < 20; ++y) {
      const FramePtr frame = Flat(AV_PIX_FMT_YUV420P, 64, 48, 100);
      DrawBoxes(*frame, {{static_cast<float>(x), static_cast<float>(y), 9, 8}}, 1, 1);
      for (int row = 0; row < 48; ++row)
        for (int column = 0; column < 64; ++column) {
          const bool drawn = PlaneOf(*frame, 0).row<uint8_t>(row)[column] == 81;
          const int red = PlaneOf(*frame, 2).row<uint8_t>(row / 2)[column / 2];
          EXPECT_TRUE(!drawn || red == 240) << x << " " << y << ": " << column << " " << row;
        }
      EXPECT_EQ(PlaneOf(*frame, 2).row<uint8_t>((y + 4) / 2)[(x + 4) / 2], 100);
    }
}

TEST(Overlay, StaysInsideAndBlends) {
  const FramePtr frame = Flat(AV_PIX_FMT_YUV420P, 33, 17, 181);
  DrawBoxes(*frame, {{-3, -3, 8, 8}, {30, 14, 10, 10}, {0, 0, 33, 17}}, 1, 0.5);
  EXPECT_EQ(PlaneOf(*frame, 0).row<uint8_t>(0)[6], 131);
  EXPECT_EQ(PlaneOf(*frame, 0).row<uint8_t>(3)[3], 181);
  const FramePtr twice = Flat(AV_PIX_FMT_YUV420P, 64, 48, 100);
  DrawBoxes(*twice, {{10, 8, 5, 5}}, 2, 1);
  EXPECT_EQ(PlaneOf(*twice, 0).row<uint8_t>(20)[18], 81);
  EXPECT_EQ(PlaneOf(*twice, 0).row<uint8_t>(20)[31], 81);
}

/// Twelve frames with a thing in most of them, some of them made between others.
std::string Documented(size_t begun_anew_at) {
  std::string rows;
  Trail trail({.seen = 3, .of = 5}, 1, 1), again({.seen = 3, .of = 5}, 1, 1);
  Trail* now = &trail;
  for (size_t i = 0; i < 12; ++i) {
    if (i == begun_anew_at) {
      rows += now->TakeRows();
      again.Replay(rows);
      now = &again;
    }
    const FramePtr frame = Flat(AV_PIX_FMT_YUV420P, 64, 48, 100);
    frame->pts = static_cast<int64_t>(2 * i);
    if (i % 4 != 3) SetFinds(*frame, {FindAt(20, 20)});
    if (i == 2) SetFinds(*frame, {});
    now->Take(*frame);
    // Drawn from the third sighting on, whoever has seen the others.
    EXPECT_EQ(PlaneOf(*frame, 0).row<uint8_t>(25)[18], i >= 4 ? 81 : 100) << i;
  }
  return now->Finish(0.02);
}

TEST(Trail, GoesOnWhereItWas) {
  const std::string whole = Documented(99);
  for (const size_t at : {0, 1, 3, 4, 7, 11}) EXPECT_EQ(Documented(at), whole);
  // Frames that were made are not counted: 0 1 2 4 5 6 8 9 10 are the input's, 2 shows nothing.
  EXPECT_TRUE(whole.starts_with(
      "[\n    {\"id\": 1, \"class\": \"phone\", \"first\": {\"frame\": 0, \"time\": 0.000000}, "
      "\"last\": {\"frame\": 8, \"time\": 0.400000}, \"best_score\": 0.900, \"boxes\": [\n"
      "      {\"frame\": 0, \"time\": 0.000000, \"box\": [20.0, 20.0, 10.0, 10.0], \"score\": "
      "0.900},\n"))
      << whole;
  EXPECT_EQ(std::ranges::count(whole, '\n'), 1 + 1 + 8);
}

/// Twelve frames with a thing at one place, and a cut before the eighth.
std::string DocumentedWithACut(size_t begun_anew_at) {
  SceneTracker scenes;
  std::string rows;
  Trail trail({.seen = 3, .of = 5}, 1, 1), again({.seen = 3, .of = 5}, 1, 1);
  Trail* now = &trail;
  for (size_t i = 0; i < 12; ++i) {
    if (i == begun_anew_at) {
      rows += now->TakeRows();
      again.Replay(rows);
      now = &again;
    }
    const FramePtr frame = Flat(AV_PIX_FMT_YUV420P, 64, 48, i < 7 ? 60 : 180);
    frame->pts = static_cast<int64_t>(i);
    scenes.Add(*frame);
    SetFinds(*frame, {FindAt(20, 20)});
    now->Take(*frame);
  }
  return now->Finish(1);
}

TEST(Trail, EndsAlertsAtCuts) {
  const std::string whole = DocumentedWithACut(99);
  EXPECT_NE(whole.find("\"last\": {\"frame\": 6,"), std::string::npos) << whole;
  EXPECT_NE(whole.find("{\"id\": 2, \"class\": \"phone\", \"first\": {\"frame\": 7,"),
            std::string::npos);
  for (const size_t at : {0, 6, 7, 8}) EXPECT_EQ(DocumentedWithACut(at), whole) << at;
}

TEST(Trail, RefusesWhatIsNoRow) {
  Trail trail({}, 1, 1);
  for (const char* bad :
       {"x 0 []\n", "5\n", "5 0\n", "5 0 [\n", " 0 []\n", "5 []\n", "5 x []\n", "50 []\n"})
    EXPECT_THROW(trail.Replay(bad), Failure) << bad;
  EXPECT_EQ(trail.Finish(1), "[]");
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
