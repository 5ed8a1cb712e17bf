// Frames that are drawn around finds, and the rows that jobs keep of them.
#include "alert/trail.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "alert/overlay.h"
#include "analysis/scene.h"
#include "tests/enhance/alert_frames.h"

namespace fettle::enhance {
namespace {

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

/// What `frame_at` makes of twelve frames, by a trail that another one goes on from before one.
std::string Documented(size_t begun_anew_at, double seconds_of_a_unit,
                       const std::function<FramePtr(size_t)>& frame_at,
                       const std::function<void(size_t, const AVFrame&)>& check_drawn) {
  std::string rows;
  Trail trail({.seen = 3, .of = 5}, 1, 1), again({.seen = 3, .of = 5}, 1, 1);
  Trail* now = &trail;
  for (size_t i = 0; i < 12; ++i) {
    if (i == begun_anew_at) {
      rows += now->TakeRows();
      again.Replay(rows);
      now = &again;
    }
    const FramePtr frame = frame_at(i);
    now->Take(*frame);
    check_drawn(i, *frame);
  }
  return now->Finish(seconds_of_a_unit);
}

/// A thing in most frames, some of which are made between others.
std::string DocumentedWithGaps(size_t begun_anew_at) {
  const auto frame_at = [](size_t i) {
    FramePtr frame = Flat(AV_PIX_FMT_YUV420P, 64, 48, 100);
    frame->pts = static_cast<int64_t>(2 * i);
    if (i % 4 != 3) SetFinds(*frame, {FindAt(20, 20)});
    if (i == 2) SetFinds(*frame, {});
    return frame;
  };
  return Documented(begun_anew_at, 0.02, frame_at, [](size_t i, const AVFrame& frame) {
    // Drawn from the third sighting on, whoever has seen the others.
    EXPECT_EQ(PlaneOf(frame, 0).row<uint8_t>(25)[18], i >= 4 ? 81 : 100) << i;
  });
}

TEST(Trail, GoesOnWhereItWas) {
  const std::string whole = DocumentedWithGaps(99);
  for (const size_t at : {0, 1, 3, 4, 7, 11}) EXPECT_EQ(DocumentedWithGaps(at), whole);
  // Frames that were made are not counted: 0 1 2 4 5 6 8 9 10 are the input's, 2 shows nothing.
  EXPECT_TRUE(whole.starts_with(
      "[\n    {\"id\": 1, \"class\": \"phone\", \"first\": {\"frame\": 0, \"time\": 0.000000}, "
      "\"last\": {\"frame\": 8, \"time\": 0.400000}, \"best_score\": 0.900, \"boxes\": [\n"
      "      {\"frame\": 0, \"time\": 0.000000, \"box\": [20.0, 20.0, 10.0, 10.0], \"score\": "
      "0.900},\n"))
      << whole;
  EXPECT_EQ(std::ranges::count(whole, '\n'), 1 + 1 + 8);
}

/// A thing at one place, and a cut before the eighth frame.
std::string DocumentedWithACut(size_t begun_anew_at) {
  SceneTracker scenes;
  const auto frame_at = [&scenes](size_t i) {
    FramePtr frame = Flat(AV_PIX_FMT_YUV420P, 64, 48, i < 7 ? 60 : 180);
    frame->pts = static_cast<int64_t>(i);
    scenes.Add(*frame);
    SetFinds(*frame, {FindAt(20, 20)});
    return frame;
  };
  return Documented(begun_anew_at, 1, frame_at, [](size_t, const AVFrame&) {});
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

}  // namespace
}  // namespace fettle::enhance
