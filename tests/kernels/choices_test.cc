// How much a tuner has to choose from: kernels x states x parameters of the usual convolutions.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "kernels/backend.h"
#include "kernels/cpu/gemm/microkernel.h"
#include "kernels/cpu/simd/targets.h"
#include "kernels/kernel.h"
#include "tests/kernels/kernel_check.h"

namespace fettle::kernels {
namespace {

struct Choices {
  int64_t all = 0;          // with every combination of parameters
  int64_t states = 0;       // kernels x states
  bool converts = false;    // some kernel reads one layout and writes another
  bool parameters = false;  // every kernel but references has some
};

Choices Count(std::string_view text) {
  const CpuDevice device(std::make_shared<ThreadPool>(2));
  const CaseGroup test = ParseGroup(text);
  Choices choices{.parameters = true};
  for (const KernelDesc* kernel : CpuKernels()) {
    const auto candidates = CandidatesOf(*kernel, *test.graph, device);
    if (kernel->is_reference() || !candidates.ok()) continue;
    for (const StateAssignment& states : *candidates) {
      int64_t combinations = 1;
      const Problem problem{.group = test.graph, .states = states, .threads = 2};
      const ParamSpace space = SpaceOf(*kernel, problem, device);
      choices.parameters &= !space.tunables.empty();
      for (const Tunable& tunable : space.tunables)
        combinations *= static_cast<int64_t>(tunable.values.size());
      choices.all += combinations;
      ++choices.states;
      choices.converts |= states.inputs[0].layout != states.outputs[0].layout;
    }
  }
  return choices;
}

TEST(Choices, AreManyForTheUsualConvolutions) {
  static constexpr const char* kTexts[] = {
      "input %x: f32[1x3x64x64]\nconst %w: f32[32x3x3x3]\n"
      "%y = Conv(%x, %w) {pads=[1,1,1,1], strides=[2,2]}\noutput %y\n",
      "input %x: f32[1x64x28x28]\nconst %w: f32[128x64x1x1]\n%y = Conv(%x, %w)\noutput %y\n",
      "input %x: f32[1x64x28x28]\nconst %w: f32[64x64x3x3]\n"
      "%y = Conv(%x, %w) {pads=[1,1,1,1]}\noutput %y\n",
      "input %x: f32[1x96x28x28]\nconst %w: f32[96x1x3x3]\n"
      "%y = Conv(%x, %w) {pads=[1,1,1,1], group=96}\noutput %y\n",
      "input %q: u8[1x64x14x14]\nconst %s: f32[] = 0.02\nconst %z: u8[] = 100\n"
      "const %w: i8[64x64x1x1] = noise(-127, 127)\n%x = DequantizeLinear(%q, %s, %z)\n"
      "%f = DequantizeLinear(%w, %s)\n%c = Conv(%x, %f)\n%y = QuantizeLinear(%c, %s, %z)\n"
      "output %y\n",
  };
  for (const char* text : kTexts) {
    SCOPED_TRACE(text);
    const Choices choices = Count(text);
    EXPECT_GE(choices.states, 4);
    EXPECT_GE(choices.all, 8);
    EXPECT_TRUE(choices.converts);
    EXPECT_TRUE(choices.parameters);
  }
}

/// The taste of a kernel for a convolution, with so many threads.
int TasteOf(std::string_view kernel, std::string_view text, int threads) {
  const CpuDevice device(std::make_shared<ThreadPool>(threads));
  const CaseGroup test = ParseGroup(text);
  const auto match = FindKernel(kernel)->match(test.graph, device);
  return match.ok() ? (*match)->taste() : 0;
}

TEST(Choices, ManyThreadsDoNotShareTheLinesOfASignal) {
  static constexpr std::string_view kLines = "cpu.conv.lines.nhwc", kTiles = "cpu.conv.gemm.nhwc";
  // Half a tile wide, on every instruction set.
  const int oc = std::max(GetMicroKernels().nr / 2, 1);
  const std::string signal = fmt::format(
      "input %x: f32[1x8x800]\nconst %w: f32[{}x8x11]\n%y = Conv(%x, %w)\noutput %y\n", oc);
  const std::string picture = fmt::format(
      "input %x: f32[1x8x40x40]\nconst %w: f32[{}x8x3x3]\n%y = Conv(%x, %w)\noutput %y\n", oc);
  EXPECT_GT(TasteOf(kLines, signal, 1), TasteOf(kTiles, signal, 1));
  EXPECT_LT(TasteOf(kLines, signal, 8), TasteOf(kTiles, signal, 8));
  EXPECT_GT(TasteOf(kLines, picture, 8), TasteOf(kTiles, picture, 8));
}

}  // namespace
}  // namespace fettle::kernels
