// Kernels that are as good as the best in another layout: the one for which less is converted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/simd/targets.h"
#include "ops/op.h"
#include "planner/planner.h"

namespace fettle::planner {
namespace {

/// The plan of before any measuring.
Decision Preferred(const std::string& text) {
  ir::Graph graph = ops::Parse(text).value();
  EXPECT_TRUE(ops::InferGraph(graph).ok());
  const CpuDevice cpu(std::make_shared<ThreadPool>(1));
  return PreferredDecision(graph, DeviceSet(cpu), {.threads = 1}).value();
}

/// Its kernels, in order.
std::vector<std::string> Kernels(const std::string& text) {
  std::vector<std::string> kernels;
  for (const GroupDecision& group : Preferred(text).groups) kernels.push_back(group.kernel);
  return kernels;
}

using testing::ElementsAre;

class LayoutsBeside : public testing::Test {
 protected:
  /// Tastes depend on the lanes of a vector.
  void SetUp() override {
    if (!kernels::RunsSimdTarget("AVX2")) GTEST_SKIP() << "no AVX2";
    kernels::ForceSimdTarget("AVX2");
  }
  void TearDown() override { kernels::ForceSimdTarget(""); }
};

/// Between row-major tensors nothing is converted, and few outputs fill no vector.
TEST_F(LayoutsBeside, PlanesStayPlanes) {
  EXPECT_THAT(Kernels("input %x: f32[1x12x40x48]\nconst %w: f32[20x12x1x1]\n%y = Conv(%x, %w)\n"
                      "output %y\n"),
              ElementsAre("cpu.conv.planes"));
  EXPECT_THAT(Kernels("input %x: f32[1x12x40x48]\nconst %w: f32[4x12x3x3]\nconst %v: f32[4x4x3x3]\n"
                      "%c = Conv(%x, %w)\n%y = Conv(%c, %v)\noutput %y\n"),
              ElementsAre("cpu.conv.planes.flat", "cpu.conv.planes.flat"));
  EXPECT_THAT(Kernels("input %x: f32[1x12x40x48]\nconst %w: f32[12x3x4x4]\n"
                      "%y = ConvTranspose(%x, %w) {group=4, strides=[2,2]}\noutput %y\n"),
              ElementsAre("cpu.conv_transpose.planes"));
  EXPECT_THAT(Kernels("input %x: f32[1x200x40x48]\nconst %w: f32[60x200x1x1]\n%y = Conv(%x, %w)\n"
                      "output %y\n"),
              ElementsAre("cpu.conv.pointwise.row"));
}

/// Channels-last kernels repeat inputs that several filters read for each row.
TEST_F(LayoutsBeside, StridedVolumesOfSeveralFiltersAreFlat) {
  EXPECT_THAT(Kernels("input %x: f32[1x8x19x20x19]\nconst %w: f32[24x1x4x4x4]\n"
                      "%y = Conv(%x, %w) {group=8, strides=[3,3,3]}\noutput %y\n"),
              ElementsAre("cpu.conv.planes.flat"));
}

/// Few inputs, or narrow groups, make sums that take longer to convert than windows to gather.
TEST_F(LayoutsBeside, SumsOfFewBytesAreProductsOfWindows) {
  const auto kernels = [](int inputs, int outputs, int groups) {
    return Kernels(
        fmt::format("input %x: u8[1x{}x40x40]\nconst %w: i8[{}x{}x3x1]\n"
                    "%y = ConvInteger(%x, %w) {{group={}}}\noutput %y\n",
                    inputs * groups, outputs * groups, inputs, groups));
  };
  EXPECT_THAT(kernels(5, 48, 1), ElementsAre("cpu.quantised.integer"));
  EXPECT_THAT(kernels(4, 9, 4), ElementsAre("cpu.quantised.integer"));
  EXPECT_THAT(kernels(48, 48, 1), testing::Not(testing::Contains("cpu.quantised.integer")));
  EXPECT_THAT(kernels(12, 2, 4), testing::Not(testing::Contains("cpu.quantised.integer")));
}

/// A view would leave the result in a layout that is converted for the caller.
TEST(BorderTransposes, AreCopiedOnce) {
  for (const char* axes : {"[0,2,1]", "[2,0,1]", "[1,2,0]"}) {
    const Decision decision = Preferred(
        fmt::format("input %x: f32[3x40x50]\n%y = Transpose(%x) {{perm={}}}\noutput %y\n", axes));
    ASSERT_EQ(decision.groups.size(), 1U);
    EXPECT_TRUE(decision.groups[0].states.outputs[0].layout.IsRowMajor()) << axes;
  }
}

/// Many channels go through channels-last kernels, and so does what lies between them.
TEST_F(LayoutsBeside, ChannelsLastStaysChannelsLast) {
  const std::vector<std::string> kernels = Kernels(
      "input %x: f32[1x64x40x48]\nconst %w: f32[64x64x3x3]\nconst %v: f32[64x64x1x1]\n"
      "const %u: f32[64x1x3x3]\n"
      "%a = Conv(%x, %w)\n%b = Conv(%a, %u) {group=64}\n%c = Conv(%b, %v)\n%y = Conv(%c, %w)\n"
      "output %y\n");
  EXPECT_EQ(kernels.size(), 4U);
  for (const std::string& kernel : kernels)
    EXPECT_THAT(kernel, testing::Not(testing::HasSubstr("planes")));
}

}  // namespace
}  // namespace fettle::planner
