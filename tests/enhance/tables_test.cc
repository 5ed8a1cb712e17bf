// Table steps: what they leave alone, and that bytes by vectors agree with deeper samples one by
// one.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>

#include "analysis/scene.h"
#include "picture/samples.h"
#include "steps/step.h"
#include "tables/formulas.h"
#include "tables/local.h"
#include "tables/rows.h"

namespace fettle::enhance {
namespace {

using Value = std::function<int(int x, int y)>;  // luma in levels of 8 bits

FramePtr Picture(AVPixelFormat format, int width, int height, const Value& luma) {
  FramePtr frame = NewFrame(format, width, height);
  for (int plane = 0; plane < PlaneCount(*frame); ++plane) {
    const Plane to = PlaneOf(*frame, plane);
    ForSampleType(to.depth, [&](auto sample) {
      for (int y = 0; y < to.height; ++y)
        for (int x = 0; x < to.width; ++x) {
          const int level = plane == 0 ? luma(x, y) : 100 + (7 * x + y) % 60;
          to.row<decltype(sample)>(y)[x] = static_cast<decltype(sample)>(level << (to.depth - 8));
        }
    });
  }
  return frame;
}

int Noise(int x, int y) { return (x * 7919 + y * 104729 + x * y * 31) % 256; }
int DarkRamp(int x, int y) { return 18 + (x + 2 * y) / 8 % 60 + (x * 31 + y * 17) % 5; }

/// The largest difference of all samples, in levels of 8 bits.
double Distance(const AVFrame& a, const AVFrame& b) {
  double most = 0;
  for (int plane = 0; plane < PlaneCount(a); ++plane) {
    const Plane one = PlaneOf(a, plane), other = PlaneOf(b, plane);
    const auto level = [](const Plane& from, int x, int y) {
      const int value = from.depth > 8 ? from.row<uint16_t>(y)[x] : from.row<uint8_t>(y)[x];
      return static_cast<double>(value) / (1 << (from.depth - 8));
    };
    for (int y = 0; y < one.height; ++y)
      for (int x = 0; x < one.width; ++x)
        most = std::max(most, std::abs(level(one, x, y) - level(other, x, y)));
  }
  return most;
}

FramePtr Through(std::string_view name, const AVFrame& frame, bool dither = false) {
  const ChainLink link = ReadChain(name).front();
  const auto step = link.row->make({.format = static_cast<AVPixelFormat>(frame.format),
                                    .width = frame.width,
                                    .height = frame.height,
                                    .strength = link.strength,
                                    .dither = dither});
  return step->Apply(FramePtr(av_frame_clone(&frame)));
}

TEST(Tables, ThatChangeNothingChangeNothing) {
  Tables same{.has_tone = true, .has_detail = true, .has_chroma = true};
  for (Curve& curve : same.tone)
    for (size_t i = 0; i < kKnots; ++i) curve[i] = static_cast<float>(i * kKnotLevels);
  same.chroma.fill(1);
  for (const auto& [width, height] : {std::pair(1, 1), {33, 17}, {130, 70}, {1100, 9}})
    for (const AVPixelFormat to : {AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV420P10})
      for (const bool dither : {false, true}) {
        const FramePtr frame = Picture(AV_PIX_FMT_YUV420P, width, height, Noise);
        const FramePtr result = NewFrame(to, width, height);
        LocalTables().Run(same, *frame, *result, dither);
        EXPECT_EQ(Distance(*frame, *result), 0) << width << "x" << height << " " << dither;
      }
}

TEST(Tables, BytesAgreeWithDeeperSamples) {
  for (const char* name : {"lowlight", "clarity", "contrast=1", "sharpen=2"}) {
    const Value luma = std::string_view(name) == "clarity"
                           ? Value([](int x, int y) { return 70 + DarkRamp(x, y); })
                           : Value(DarkRamp);
    const FramePtr bytes = Picture(AV_PIX_FMT_YUV420P, 150, 133, luma);
    const FramePtr deep = Picture(AV_PIX_FMT_YUV420P10, 150, 133, luma);
    const FramePtr one = Through(name, *bytes), other = Through(name, *deep);
    EXPECT_GE(Distance(*bytes, *one), 1) << name;
    EXPECT_LE(Distance(*one, *other), 1) << name;
  }
}

TEST(Tables, AllInstructionSetsGiveTheSameBytes) {
  for (const char* name : {"lowlight", "contrast=1", "sharpen=2", "deepen"}) {
    const FramePtr frame = Picture(AV_PIX_FMT_YUV420P, 199, 70, DarkRamp);
    const FramePtr best = Through(name, *frame);
    for (const int64_t set : InstructionSets()) {
      UseInstructionSet(set);
      EXPECT_EQ(Distance(*best, *Through(name, *frame)), 0) << name << " " << set;
    }
    UseInstructionSet(0);
  }
}

TEST(Tables, ScenesThatNeedNothingPass) {
  const FramePtr light =
      Picture(AV_PIX_FMT_YUV420P, 64, 64, [](int x, int y) { return 20 + 3 * x + y / 4; });
  for (const char* name : {"lowlight", "clarity"})
    EXPECT_EQ(Through(name, *light)->data[0], light->data[0]) << name;
  EXPECT_EQ(Through("sharpen=0", *light)->data[0], light->data[0]);
}

TEST(Tables, LowLightReachesWhatItPromises) {
  const FramePtr dark = Picture(AV_PIX_FMT_YUV420P, 256, 192, DarkRamp);
  const Scene scene = SceneOf(*dark);
  const double promised = LightAfter(scene, {}, 1);
  EXPECT_LT(scene.light, 60);
  EXPECT_GT(promised, scene.light + 20);
  EXPECT_NEAR(SceneOf(*Through("lowlight", *dark)).light, promised, 8);
}

TEST(Tables, DeepenFindsLevelsBetweenBands) {
  const FramePtr bands =
      Picture(AV_PIX_FMT_YUV420P, 128, 32, [](int x, int) { return 100 + x / 16; });
  for (const bool dither : {false, true}) {
    const FramePtr deep = Through("deepen", *bands, dither);
    ASSERT_EQ(deep->format, AV_PIX_FMT_YUV420P10);
    const Plane luma = PlaneOf(*deep, 0);
    const std::set<int> levels(luma.row<uint16_t>(16), luma.row<uint16_t>(16) + 128);
    EXPECT_GE(levels.size(), 20u);
    EXPECT_LE(Distance(*bands, *deep), 1);
  }
}

TEST(Scenes, BeginAtCutsAndFollowSlowly) {
  SceneTracker tracker;
  const auto at = [&](int level) {
    const FramePtr frame =
        Picture(AV_PIX_FMT_YUV420P, 64, 64, [&](int x, int) { return level + x % 8; });
    tracker.Add(*frame);
    return SceneOf(*frame);
  };
  EXPECT_EQ(at(40).number, 0);
  const Scene follows = at(41);
  EXPECT_EQ(follows.number, 0);
  EXPECT_NEAR(follows.light, 43.6, 0.2);
  const Scene cut = at(150);
  EXPECT_EQ(cut.number, 1);
  EXPECT_EQ(cut.first, 2);
  EXPECT_NEAR(cut.light, 153.5, 0.1);
}

}  // namespace
}  // namespace fettle::enhance
