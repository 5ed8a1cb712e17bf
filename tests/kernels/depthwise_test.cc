#include <fmt/format.h>

#include "kernels/cpu/depthwise/line.h"
#include "kernels/cpu/simd/targets.h"
#include "tests/kernels/kernel_check.h"

namespace fettle::kernels {

extern const KernelDesc kCpuConvDepthwiseLine;
extern const KernelDesc kCpuConvDepthwiseNchwc;
extern const KernelDesc kCpuConvDepthwiseNhwc;

namespace {

TEST(Depthwise, AgreesWithTheOracleOnEveryInstructionSet) {
  struct Row {
    const char *x, *w, *attributes;
  };
  static constexpr Row kRows[] = {
      {"1x32x9x11", "32x1x3x3", "pads=[1,1,1,1], group=32"},
      {"2x19x8x7", "19x1x3x3", "pads=[1,1,1,1], strides=[2,2], group=19"},
      {"1x7x6x3", "7x1x3x3", "pads=[1,1,1,1], group=7"},
      {"1x5x1x1", "5x1x3x3", "pads=[1,1,1,1], group=5"},
      {"1x17x13x14", "17x1x5x5", "pads=[2,2,2,2], group=17"},
      {"1x16x13x14", "16x1x5x5", "pads=[1,2,2,1], strides=[2,2], group=16"},
      {"1x33x13x17", "33x1x7x7", "pads=[3,3,3,3], group=33"},
      {"1x33x13x17", "33x1x7x7", "pads=[3,3,3,3], strides=[2,2], group=33"},
      {"1x4x11x12", "4x1x9x9", "pads=[4,4,4,4], group=4"},
      {"1x18x9x14", "18x1x3x3", "pads=[1,1,1,1], group=18"},
      {"1x18x4x33", "18x1x3x3", "pads=[1,1,1,1], group=18"},
      {"1x18x12x4", "18x1x3x3", "pads=[1,1,1,1], group=18"},
      {"1x20x20x7", "20x1x3x3", "pads=[1,1,1,1], group=20"},
      {"1x20x12x9", "20x1x3x3", "group=20"},
      {"1x20x7x22", "20x1x3x3", "pads=[1,0,1,1], group=20"},
      {"1x20x11x15", "20x1x3x3", "pads=[1,1,1,1], strides=[2,2], group=20"},
      {"2x40x10x30", "40x1x3x3", "pads=[0,0,1,1], strides=[2,2], group=40"},
      {"2x40x11x29", "40x1x3x3", "pads=[1,1,1,1], group=40"},
      {"1x18x7x7", "18x1x5x5", "pads=[2,2,2,2], group=18"},
      {"1x18x14x28", "18x1x5x5", "pads=[2,2,2,2], strides=[2,2], group=18"},
      {"1x18x13x17", "18x1x5x5", "pads=[4,4,4,4], dilations=[2,2], group=18"},
      {"1x18x9x8", "18x1x3x3", "pads=[2,2,2,2], dilations=[1,2], group=18"},
      {"1x18x9x16", "18x1x3x3", "pads=[2,2,2,2], dilations=[2,2], strides=[1,2], group=18"},
      {"1x20x9x12", "20x1x3x3", "pads=[2,1,2,0], strides=[2,1], group=20"},
      {"1x20x9x12", "20x1x4x3", "pads=[2,1,2,1], dilations=[2,1], group=20"},
      {"2x12x10x12", "12x1x4x3", "pads=[1,1,2,1], group=12"},
      {"1x12x9x9", "24x1x3x3", "pads=[1,1,1,1], group=12"},
      {"1x6x9x9", "18x1x3x3", "pads=[2,2,2,2], dilations=[2,2], group=6"},
      {"1x20x9x9", "20x1x2x4", "pads=[0,1,1,2], strides=[1,3], group=20"},
      {"1x20x9", "20x1x3", "pads=[1,1], group=20"},
      {"1x10x4x5x6", "10x1x3x3x3", "pads=[1,1,1,1,1,1], group=10"},
      {"1x10x20x6", "10x1x17x3", "pads=[8,1,8,1], group=10"},
      {"1x20x40", "20x1x7", "pads=[3,3], group=20"},
      {"1x20x40", "20x1x9", "pads=[4,4], group=20"},
      {"1x20x40", "20x1x5", "pads=[4,4], dilations=[2], group=20"},
      // From padded copies of lines.
      {"2x40x17x33", "40x1x5x5", "pads=[2,2,2,2], group=40"},
      {"1x256x9x20", "256x1x5x5", "pads=[2,2,2,2], group=256"},
      {"1x128x13x37", "128x1x5x5", "pads=[2,1,2,2], strides=[2,2], group=128"},
      {"1x20x6x150", "20x1x7x7", "pads=[3,3,3,3], group=20"},
      {"1x20x140x5", "20x1x7x7", "pads=[3,3,3,3], group=20"},
      {"1x20x3x3", "20x1x7x7", "pads=[3,3,3,3], group=20"},
      {"1x20x9x30", "20x1x9x9", "pads=[4,4,4,4], group=20"},
      {"1x18x19x40", "18x1x5x5", "pads=[4,4,4,4], dilations=[2,2], group=18"},
      {"1x18x9x33", "18x1x5x5", "pads=[6,6,6,6], dilations=[3,3], group=18"},
      {"1x18x8x68", "18x1x3x3", "pads=[2,1,2,3], dilations=[2,2], group=18"},
      {"1x6x10x11", "18x1x3x3", "pads=[1,1,1,1], strides=[2,2], group=6"},
      {"2x10x9x9", "40x1x5x5", "pads=[2,2,2,2], group=10"},
      {"1x3x9x9", "51x1x7x7", "pads=[3,3,3,3], group=3"},
      {"1x20x7x9x10", "20x1x3x3x3", "pads=[1,1,1,1,1,1], strides=[2,2,2], group=20"},
      {"1x512x5x9", "512x1x3x3", "pads=[1,1,1,1], group=512"},
      {"1x18x7x9x10", "18x1x5x5x5", "pads=[2,2,2,2,2,2], strides=[2,2,2], group=18"},
      {"2x18x4x6x9", "18x1x3x5x5", "pads=[1,2,2,1,2,2], group=18"},
      // The same, taps one by one.
      {"2x20x9x33", "20x1x4x4", "pads=[1,2,2,1], group=20"},
      {"1x40x9x23", "40x1x6x6", "pads=[2,2,2,2], strides=[1,2], group=40"},
      {"1x18x7x4", "18x1x11x11", "pads=[5,5,5,5], group=18"},
      {"1x18x7x3", "18x1x4x4", "pads=[2,2,2,2], group=18"},
      {"1x20x30x31", "20x1x31x31", "pads=[15,15,15,15], group=20"},
      {"1x20x19x37", "20x1x9x9", "pads=[4,3,4,4], strides=[2,2], group=20"},
      {"1x20x19x37", "20x1x9x9", "pads=[4,3,4,4], strides=[3,3], group=20"},
      {"1x20x19x12", "20x1x11x1", "pads=[5,0,5,0], group=20"},
      {"1x20x19x70", "20x1x1x21", "pads=[0,10,0,10], group=20"},
      {"1x18x19x30", "18x1x4x4", "pads=[3,3,3,3], dilations=[2,2], group=18"},
      {"1x6x9x11", "18x1x4x4", "pads=[1,1,2,2], strides=[2,2], group=6"},
      {"1x18x7x9x10", "18x1x2x4x4", "pads=[1,1,2,0,2,1], group=18"},
  };
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    SCOPED_TRACE(target);
    for (const Row& row : kRows) {
      const std::string_view w = row.w;
      for (const char* tail : {"output %c\n", "%y = Relu(%c)\noutput %y\n"}) {
        CheckKernel(kCpuConvDepthwiseNhwc,
                    fmt::format("input %x: f32[{}]\nconst %w: f32[{}]\nconst %b: f32[{}]\n"
                                "%c = Conv(%x, %w, %b) {{{}}}\n{}",
                                row.x, w, w.substr(0, w.find('x')), row.attributes, tail),
                    {.atol = 5e-5, .rtol = 1e-5});
      }
    }
  }
  ForceSimdTarget("");
}

TEST(Depthwise, BlocksOfChannelsAgreeWithTheOracleOnEveryInstructionSet) {
  struct Row {
    const char *x, *w, *attributes;
  };
  static constexpr Row kRows[] = {
      {"2x40x9x33", "40x1x5x5", "pads=[2,2,2,2], group=40"},
      {"1x20x9x64", "20x1x5x5", "pads=[2,2,2,2], strides=[2,2], group=20"},
      {"1x24x9x7", "24x1x7x7", "pads=[3,3,3,3], group=24"},
  };
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    SCOPED_TRACE(target);
    for (const Row& row : kRows) {
      CheckKernel(kCpuConvDepthwiseNchwc,
                  fmt::format("input %x: f32[{}]\nconst %w: f32[{}]\n"
                              "%c = Conv(%x, %w) {{{}}}\n%y = Sigmoid(%c)\noutput %y\n",
                              row.x, row.w, row.attributes),
                  {.atol = 5e-5, .rtol = 1e-5});
    }
  }
  ForceSimdTarget("");
}

TEST(Depthwise, LinesOfFewChannelsAgreeWithTheOracleOnEveryInstructionSet) {
  struct Row {
    const char *size, *kernel, *attributes;
  };
  static constexpr Row kRows[] = {
      {"9x11", "3x3", "pads=[1,1,1,1], "},
      {"1x1", "3x3", "pads=[1,1,1,1], "},
      {"7x40", "3x3", ""},
      {"13x5", "5x2", "pads=[2,0,1,1], "},
      {"2x3", "7x7", "pads=[3,3,3,3], "},
      {"3x2", "3x3", "pads=[4,4,4,4], "},
      {"130x64", "3x1", "pads=[1,0,1,0], "},
  };
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    SCOPED_TRACE(target);
    for (int c = 1; 2 * c < GetLineKernel().lanes; ++c) {
      for (const Row& row : kRows) {
        for (const char* tail :
             {"output %c\n", "%y = Relu(%c)\noutput %y\n", "%y = Sigmoid(%c)\noutput %y\n"}) {
          CheckKernel(kCpuConvDepthwiseLine,
                      fmt::format("input %x: f32[2x{0}x{1}]\nconst %w: f32[{0}x1x{2}]\n"
                                  "const %b: f32[{0}]\n%c = Conv(%x, %w, %b) {{{3}group={0}}}\n{4}",
                                  c, row.size, row.kernel, row.attributes, tail),
                      {.atol = 5e-5, .rtol = 1e-5});
        }
      }
    }
  }
  ForceSimdTarget("");
}

TEST(Depthwise, PacksComputedWeightsAtLaunch) {
  CheckKernel(kCpuConvDepthwiseNhwc,
              "input %x: f32[1x19x8x8]\ninput %w: f32[19x1x4x4]\ninput %b: f32[19]\n"
              "%y = Conv(%x, %w, %b) {group=19, pads=[1,1,1,1]}\noutput %y\n",
              {.atol = 5e-5, .rtol = 1e-5});
  CheckKernel(kCpuConvDepthwiseNhwc,
              "input %x: f32[1x19x8x8]\ninput %w: f32[19x1x7x7]\ninput %b: f32[19]\n"
              "%y = Conv(%x, %w, %b) {group=19, pads=[3,3,3,3]}\noutput %y\n",
              {.atol = 5e-5, .rtol = 1e-5});
}

TEST(Depthwise, RefusesOtherGroupings) {
  const CpuDevice device(std::make_shared<ThreadPool>(1));
  const CaseGroup grouped = ParseGroup(
      "input %x: f32[1x4x3x3]\nconst %w: f32[4x2x1x1]\n%y = Conv(%x, %w) {group=2}\noutput %y\n");
  EXPECT_FALSE(CandidatesOf(kCpuConvDepthwiseNhwc, *grouped.graph, device).ok());
}

}  // namespace
}  // namespace fettle::kernels
