// What is left of a chain where there is no time, and how late frames come.
#include "live/ladder.h"

#include <gtest/gtest.h>

#include "live/latency.h"
#include "live/stream_name.h"
#include "tests/enhance/alert_frames.h"

namespace fettle::enhance {
namespace {

using std::chrono::milliseconds;

std::vector<std::string> Texts(const std::vector<Rung>& rungs) {
  std::vector<std::string> texts;
  for (const Rung& rung : rungs) texts.push_back(rung.text);
  return texts;
}

TEST(Ladder, LeavesOutWhatCostsMostFirst) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(Texts(RungsOf(ReadChain("deblock,superres,sharpen"), "good")),
            (Words{"deblock,superres,sharpen by good", "deblock,superres,sharpen by fast",
                   "superres,sharpen by fast", "sharpen and Lanczos", "Lanczos alone"}));
  EXPECT_EQ(Texts(RungsOf(ReadChain("contrast"), "best")), (Words{"contrast", "no step"}));
}

TEST(Ladder, MakesFramesOfOneSizeAndFormatOnEachRung) {
  const std::vector<Rung> rungs = RungsOf(ReadChain("deblock,superres,deepen"), "fast");
  StepSetup first{.format = AV_PIX_FMT_YUV420P, .width = 32, .height = 16};
  first.level = 40;
  RungChains chains(rungs, first, {AV_PIX_FMT_YUV420P10, 64, 32});
  for (size_t rung = 0; rung < rungs.size(); ++rung) {
    const FramePtr made = chains.Apply(rung, Flat(AV_PIX_FMT_YUV420P, 32, 16, 100));
    EXPECT_EQ(made->width, 64) << rungs[rung].text;
    EXPECT_EQ(made->height, 32) << rungs[rung].text;
    EXPECT_EQ(made->format, AV_PIX_FMT_YUV420P10) << rungs[rung].text;
  }
}

/// Rungs that take hours, a minute and nothing.
std::vector<Rung> Stairs() {
  return {{{}, "fast", "all", 1e7}, {{}, "fast", "some", 6e4}, {{}, "fast", "none", 0}};
}

TEST(Ladder, ChoosesWhatIsInTime) {
  const auto now = Ladder::Clock::now();
  const std::vector<Rung> rungs = Stairs();
  EXPECT_EQ(Ladder(rungs, 1e9, 0, 1).Choose(now), 0U);
  EXPECT_EQ(Ladder(rungs, 1e6, 0, 1).Choose(now), 1U);
  EXPECT_EQ(Ladder(rungs, 1e4, 0, 1).Choose(now), 2U);
  // One that waited for nearly all of its time.
  EXPECT_EQ(Ladder(rungs, 1e6, 0, 1).Choose(now - milliseconds(880'000)), 2U);
  // In time alone, but not every so often by so many workers.
  EXPECT_EQ(Ladder(rungs, 1e9, 4e4, 2).Choose(now), 1U);
  EXPECT_EQ(Ladder(rungs, 1e9, 4e4, 1).Choose(now), 2U);
  // Without a bound all steps are done.
  EXPECT_EQ(Ladder(rungs, 0, 40, 1).Choose(now - milliseconds(1'000'000)), 0U);
}

TEST(Ladder, FollowsWhatStepsTake) {
  const auto now = Ladder::Clock::now();
  const std::vector<Rung> rungs = Stairs();
  Ladder slower(rungs, 1.3e7, 0, 1);
  EXPECT_EQ(slower.Choose(now), 0U);
  for (int i = 0; i < 50; ++i) slower.Took(0, 3e7);  // three times as long as measured
  EXPECT_EQ(slower.Choose(now), 1U);
  Ladder after(rungs, 1.3e7, 0, 1);
  for (int i = 0; i < 50; ++i) after.TookAfter(1e7);
  EXPECT_EQ(after.Choose(now), 1U);
}

TEST(Latencies, AreOfAsManyFramesAsTheyShould) {
  Latencies none;
  EXPECT_EQ(none.Percentile(0.99), 0);
  Latencies latencies;
  for (int ms = 1; ms <= 200; ++ms) latencies.Add(ms);
  EXPECT_EQ(latencies.Percentile(0.5), 100);
  EXPECT_EQ(latencies.Percentile(0.99), 198);
  EXPECT_EQ(latencies.Percentile(1), 200);
  latencies.Add(1e9);
  latencies.Add(-5);
  EXPECT_EQ(latencies.count(), 202);
  EXPECT_EQ(latencies.most(), 1e9);
  EXPECT_EQ(latencies.Percentile(0), 0);
}

TEST(StreamName, TellsStreamsFromFiles) {
  for (const char* name : {"-", "udp://127.0.0.1:1", "rtmp://host/a", "/dev/video0"})
    EXPECT_TRUE(IsStream(name)) << name;
  for (const char* name : {"a.mkv", "./-", "://x", "C://x", "clips/", "a b://c", "/dev/null"})
    EXPECT_FALSE(IsStream(name)) << name;
  EXPECT_EQ(Spoken("rtsp://me:secret@host/a@b", true), "rtsp://host/a@b");
  EXPECT_EQ(Spoken("rtsp://host/a@b", true), "rtsp://host/a@b");
  EXPECT_EQ(Spoken("me@home.mkv", true), "me@home.mkv");
}

}  // namespace
}  // namespace fettle::enhance
