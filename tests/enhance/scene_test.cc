// What scenes are seen as, and which steps act on them.
#include "analysis/scene.h"

#include <gtest/gtest.h>

#include <functional>

#include "analysis/measures.h"
#include "analysis/scene_steps.h"

namespace fettle::enhance {
namespace {

FramePtr Luma(int width, int height, const std::function<int(int, int)>& level) {
  FramePtr frame = NewFrame(AV_PIX_FMT_GRAY8, width, height);
  const Plane to = PlaneOf(*frame, 0);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) to.row<uint8_t>(y)[x] = static_cast<uint8_t>(level(x, y));
  return frame;
}

int Grain(int x, int y, int most) { return (x * 7919 + y * 104729 + x * y * 31) % 97 % most; }

TEST(Screen, IsTextOnEvenGroundAndNotAWallCodedCoarsely) {
  const auto wall =
      Luma(256, 128, [](int x, int y) { return x < 160 ? 120 : 60 + Grain(x, y, 90); });
  EXPECT_LT(ScreenShareOf(PlaneOf(*wall, 0)), 0.05);
  const auto page = Luma(256, 128, [](int x, int y) {
    return y / 16 % 4 == 0 ? 20 + 40 * ((x * 5 + y * 3) % 6) : 235;  // every fourth row of blocks
  });
  EXPECT_GT(ScreenShareOf(PlaneOf(*page, 0)), 0.5);
}

TEST(Scenes, HaveTheirOwnNoise) {
  SceneTracker tracker(true), without;
  const auto noisy = [](int base) {
    return Luma(128, 128, [base](int x, int y) { return base + Grain(x, y, 24); });
  };
  const auto clean = Luma(128, 128, [](int, int) { return 200; });
  for (int i = 0; i < 3; ++i) {
    const FramePtr frame = noisy(80);
    tracker.Add(*frame);
    EXPECT_EQ(SceneOf(*frame).number, 0);
    EXPECT_GT(SceneOf(*frame).noise, 3);
  }
  tracker.Add(*clean);
  EXPECT_EQ(SceneOf(*clean).number, 1);
  EXPECT_EQ(SceneOf(*clean).noise, 0);
  const FramePtr frame = noisy(80);
  without.Add(*frame);
  EXPECT_EQ(SceneOf(*frame).noise, 0);
}

TEST(Scenes, TellWhichStepsAct) {
  const auto chain = ReadChain("deblock,denoise,lowlight,clarity,superres");
  const StepSetup setup{.own_levels = true, .own_noise = true};
  const Measures dark{
      .level = 22, .level_told = true, .noise = 4, .light = 30, .black = 20, .white = 120};
  EXPECT_EQ(
      TextOf(StepsOf(chain, setup, dark)),
      "denoise (sigma 4.0), lowlight (light 30), superres; passes deblock (level 22.0), clarity "
      "(black 20)");
  const Measures veiled{
      .level = 38, .level_told = true, .noise = 4, .light = 150, .black = 70, .white = 220};
  EXPECT_EQ(TextOf(StepsOf(chain, setup, veiled)),
            "deblock (level 38.0), clarity (black 70), superres; passes denoise (sigma 4.0, which "
            "deblock removes), lowlight (light 150)");
}

}  // namespace
}  // namespace fettle::enhance
