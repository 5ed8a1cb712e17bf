// Whether a slot of a convolution finds out where its weights belong, with the times of two GPUs
// that are made up: one reads images by a cache beside that of buffers, the other both by one.
#include <gtest/gtest.h>

#include <algorithm>

#include "ir/text.h"
#include "ops/op.h"
#include "tests/opencl_device.h"
#include "tuner/network/slot.h"

namespace fettle::kernels {
extern const KernelDesc kOpenClConvPointwise;
}  // namespace fettle::kernels

namespace fettle::tuner {
namespace {

using kernels::Params;

/// Microseconds of a set: a tile's pixels are read once for its quads, its weights once for its
/// columns.
double TimeOf(const Params& params, bool caches_are_apart) {
  const auto of = [&](std::string_view name) {
    return static_cast<double>(params.find(name)->second);
  };
  const double pixels = 120 / of("quads"), weights = 160 / of("columns");
  const double tile = of("quads") * of("columns"), spilled = tile > 16 ? 2 * (tile - 16) : 0;
  const bool in_image = of("weights_image") != 0;
  constexpr double kAddressing = 1.1;  // of what is read by coordinates
  if (!in_image) return pixels + weights + spilled;
  if (!caches_are_apart) return pixels + kAddressing * weights + spilled;
  return std::max(pixels, kAddressing * weights) + spilled;
}

class WeightsSlot : public testing::TestWithParam<bool> {};

TEST_P(WeightsSlot, FindsWhereWeightsBelong) {
  const auto& device = TestOpenClDevice();
  if (!device.ok() || !(*device)->facts().images) GTEST_SKIP() << "no OpenCL device with images";
  auto graph = std::make_shared<ir::Graph>(
      ops::Parse("input %x: f32[1x32x14x14]\nconst %w: f32[64x32x1x1] = noise(-1, 1)\n"
                 "%y = Conv(%x, %w)\noutput %y\n")
          .value());
  ASSERT_TRUE(ops::InferGraph(*graph).ok());
  const std::shared_ptr<const kernels::Match> match =
      kernels::MatchGroup(kernels::kOpenClConvPointwise, graph, **device).value();
  const auto space = SlotSpace::Create(match, 0, 1, **device, {});
  ASSERT_TRUE(space.has_value());
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SlotSearch slot(match->params(0, 1).usual, {.evaluations = 16, .seed = seed},
                    [&]() -> std::optional<SlotSearch::Start> {
                      return SlotSearch::Start{*space, space->neighbours()};
                    });
    while (const auto params = slot.Ask()) {
      const double us = TimeOf(*params, GetParam());
      slot.Tell({.median_us = us, .low_us = us, .samples = 5});
    }
    ASSERT_FALSE(slot.finalists(1).empty());
    EXPECT_EQ(slot.finalists(1)[0].params.at("weights_image"), GetParam() ? 1 : 0)
        << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Caches, WeightsSlot, testing::Values(true, false));

}  // namespace
}  // namespace fettle::tuner
