// Winograd's convolutions with filters as points and as taps, more channels than a slice of them
// has.
#include <gtest/gtest.h>

#include "kernels/cpu/simd/targets.h"
#include "tests/kernels/kernel_check.h"

namespace fettle::kernels {

extern const KernelDesc kCpuConvWinograd23Any;
extern const KernelDesc kCpuConvWinograd43Any;
extern const KernelDesc kCpuConvWinograd43Nhwc;

namespace {

constexpr const char* kConvolutions[] = {
    // Whole slices and panels; a slice and a part of one; one channel in the last of three.
    "input %x: f32[1x128x12x12]\nconst %w: f32[64x128x3x3]\nconst %b: f32[64]\n"
    "%y = Conv(%x, %w, %b) {pads=[1,1,1,1]}\noutput %y\n",
    "input %x: f32[2x150x9x11]\nconst %w: f32[70x150x3x3]\n%c = Conv(%x, %w) {pads=[1,1,1,1]}\n"
    "%y = Relu(%c)\noutput %y\n",
    "input %x: f32[1x145x10x8]\ninput %r: f32[1x33x10x8]\nconst %w: f32[33x145x3x3]\n"
    "const %b: f32[33]\n%c = Conv(%x, %w, %b) {pads=[1,1,1,1]}\n%s = Add(%c, %r)\n%y = Relu(%s)\n"
    "output %y\n",
    "input %x: f32[1x8x5x6]\nconst %w: f32[9x8x3x3]\n%y = Conv(%x, %w)\noutput %y\n",
    // Volumes: planes that no tap joins, planes of several slices, strided and dilated ones.
    "input %x: f32[2x18x3x9x7]\nconst %w: f32[20x18x1x3x3]\n"
    "%y = Conv(%x, %w) {pads=[0,1,1,0,1,1]}\noutput %y\n",
    "input %x: f32[1x48x4x9x10]\nconst %w: f32[33x48x3x3x3]\nconst %b: f32[33]\n"
    "%c = Conv(%x, %w, %b) {pads=[1,1,1,1,1,1]}\n%y = Relu(%c)\noutput %y\n",
    "input %x: f32[2x80x6x7x9]\nconst %w: f32[17x80x2x3x3]\n"
    "%y = Conv(%x, %w) {pads=[2,1,0,3,1,0], strides=[2,1,1], dilations=[3,1,1]}\noutput %y\n",
};

/// All states of `kernel`, with filters of either form and blocks of several sizes.
void CheckForms(const KernelDesc& kernel, const CaseGroup& group, std::string_view target) {
  const CpuDevice& device = TestDevice(3);
  const auto candidates = CandidatesOf(kernel, *group.graph, device);
  if (!candidates.ok()) return;  // the safe kernel takes large images alone
  for (const StateAssignment& states : *candidates) {
    KernelRun run{kernel, group, {group.graph, states, 3}, {}, std::string(target)};
    for (const Params& params : ParamsToTry(kernel, run.problem, device, 2)) {
      for (const int64_t from_taps : {0, 1}) {
        run.params = params;
        run.params["from_taps"] = from_taps;
        EXPECT_TRUE(CheckRun(run, device));
      }
    }
  }
}

TEST(Winograd, AgreesWithTheOracleInEitherFormOfItsFilters) {
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    for (const char* text : kConvolutions) {
      SCOPED_TRACE(target);
      const CaseGroup group = ParseGroup(text);
      for (const KernelDesc* kernel :
           {&kCpuConvWinograd23Any, &kCpuConvWinograd43Any, &kCpuConvWinograd43Nhwc})
        CheckForms(*kernel, group, target);
    }
  }
  ForceSimdTarget("");
}

TEST(Winograd, TapsTakeTheBytesOfTheWeights) {
  const CaseGroup group = ParseGroup(kConvolutions[0]);
  const CpuDevice& device = TestDevice(1);
  const auto states = CandidatesOf(kCpuConvWinograd43Any, *group.graph, device).value();
  const Problem problem{group.graph, states[0], 1};
  const auto bytes = [&](int64_t from_taps) {
    const auto kernel =
        PrepareKernel(kCpuConvWinograd43Any, problem, {{"from_taps", from_taps}}, device).value();
    return kernel->packs()[0].bytes;
  };
  EXPECT_EQ(bytes(1), (64 * 128 * 9 + 64) * 4);
  EXPECT_EQ(bytes(0), (64 * 128 * 36 + 64) * 4);
}

}  // namespace
}  // namespace fettle::kernels
