// Finds, and how votes make alerts of them.
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "alert/tracks.h"
#include "tests/enhance/alert_frames.h"

namespace fettle::enhance {
namespace {

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

}  // namespace
}  // namespace fettle::enhance
