// Where the weights of convolutions lie in their packed forms.
#include <gtest/gtest.h>

#include "kernels/opencl/conv/tile.h"
#include "kernels/opencl/depthwise/depthwise.h"

namespace fettle::kernels {
namespace {

/// The source of each packed element; -1 where it is zero.
std::vector<int64_t> Sources(const FilterForm& form) {
  std::vector<int64_t> sources(static_cast<size_t>(form.elements), -1);
  ForEachWeight(form, [&](int64_t to, int64_t from) { sources[static_cast<size_t>(to)] = from; });
  return sources;
}

PixelConv Conv(int64_t oc, int64_t ic, int64_t groups) {
  return {{.ic = ic, .oc = oc, .groups = groups, .kernel = {1, 3, 2}}};
}

/// [block][input quad][tap][4][lanes] of [oc][ic][tap], or of [ic][oc][tap].
void ExpectQuads(int64_t lanes, bool transposed) {
  constexpr int64_t kOc = 7, kIc = 5, kTaps = 6;
  const PixelConv conv = Conv(kOc, kIc, 1);
  const QuadPlan plan = PlanQuads(conv, {.quads = lanes / 4});
  const std::vector<int64_t> sources = Sources(QuadForm(conv, plan, transposed));
  ASSERT_EQ(std::ssize(sources), DivideUp(kOc, lanes) * 2 * kTaps * 4 * lanes);
  size_t at = 0;
  for (int64_t block = 0; block < DivideUp(kOc, lanes); ++block)
    for (int64_t quad = 0; quad < 2; ++quad)
      for (int64_t tap = 0; tap < kTaps; ++tap)
        for (int64_t c = quad * 4; c < quad * 4 + 4; ++c)
          for (int64_t o = block * lanes; o < (block + 1) * lanes; ++o) {
            const int64_t weight = transposed ? c * kOc + o : o * kIc + c;
            const bool is_there = o < kOc && c < kIc;
            ASSERT_EQ(sources[at++], is_there ? weight * kTaps + tap : -1)
                << "output channel " << o << ", input channel " << c << ", tap " << tap;
          }
}

TEST(OpenClFilter, LiesInBlocksOfBothKindsOfChannels) {
  for (int64_t lanes : {4, 8, 16}) {
    ExpectQuads(lanes, false);
    ExpectQuads(lanes, true);
  }
}

TEST(OpenClFilter, OfGroupsIsZeroForTheChannelsOfOthers) {
  const PixelConv conv = Conv(6, 4, 2);  // three output and two input channels each
  const QuadPlan plan = PlanQuads(conv, {.quads = 1});
  const std::vector<int64_t> sources = Sources(QuadForm(conv, plan));
  const auto source = [&](int64_t o, int64_t c) {
    const int64_t block = o / 4;
    return sources[static_cast<size_t>((block * plan.depth * 6 * 4 + c) * 4 + o % 4)];
  };
  EXPECT_EQ(source(2, 1), (2 * 2 + 1) * 6);
  EXPECT_EQ(source(2, 2), -1);
  EXPECT_EQ(source(3, 2), (3 * 2 + 0) * 6);
  EXPECT_EQ(source(3, 1), -1);
}

TEST(OpenClFilter, OfSingleChannelsLiesInQuads) {
  const std::vector<int64_t> sources = Sources(DepthwiseForm(Conv(5, 5, 5)));
  ASSERT_EQ(sources.size(), 48u);
  for (int64_t tap = 0; tap < 6; ++tap)
    for (int64_t o = 0; o < 8; ++o)
      EXPECT_EQ(sources[static_cast<size_t>((o / 4 * 6 + tap) * 4 + o % 4)],
                o < 5 ? o * 6 + tap : -1);
}

}  // namespace
}  // namespace fettle::kernels
