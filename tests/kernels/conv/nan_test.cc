#include <gtest/gtest.h>

#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/cpu/simd/targets.h"
#include "kernels/kernel.h"
#include "tests/kernels/kernel_check.h"

namespace fettle::kernels {
namespace {

/// The group of `text` with NaN in the middle of its first input.
CaseGroup WithNan(const char* text) {
  EvaluatedCase evaluated = EvaluateCase({.name = {}, .graph = text}).value();
  std::vector<Tensor> inputs;
  for (const ir::ValueId id : evaluated.graph.inputs)
    inputs.push_back(evaluated.values[static_cast<size_t>(id)]);
  const std::span<float> x = inputs[0].as<float>();
  x[x.size() / 2] = std::numeric_limits<float>::quiet_NaN();
  evaluated = EvaluateGraph(std::move(evaluated.graph), inputs).value();
  return MakeGroup(evaluated, 0, evaluated.graph.nodes().size());
}

/// Runs of all kernels that take `group`; some round weights to 16 bits. Winograd's are left out:
/// their transforms spread NaN over a tile of pixels.
int RunEach(const CaseGroup& group, std::string_view target) {
  int runs = 0;
  for (const KernelDesc* kernel : CpuKernels()) {
    if (kernel->is_reference() || kernel->name.find("winograd") != std::string_view::npos) continue;
    const auto candidates = CandidatesOf(*kernel, *group.graph, TestDevice(3));
    if (!candidates.ok()) continue;
    for (const StateAssignment& states : *candidates) {
      SCOPED_TRACE(kernel->name);
      EXPECT_TRUE(CheckRun({*kernel,
                            group,
                            {group.graph, states, 3},
                            {},
                            std::string(target),
                            Tolerance{.atol = 0.05, .rtol = 0.01}},
                           TestDevice(3)));
      ++runs;
    }
  }
  return runs;
}

TEST(NotANumber, PassesTheBoundsOfEveryKernel) {
  static constexpr const char* kTexts[] = {
      "input %x: f32[1x8x9x7]\nconst %w: f32[20x8x3x3]\nconst %b: f32[20]\n"
      "%c = Conv(%x, %w, %b) {pads=[1,1,1,1]}\n%y = Relu(%c)\noutput %y\n",
      "input %x: f32[1x24x9x7]\nconst %w: f32[32x24x1x1]\n%c = Conv(%x, %w)\n"
      "%y = Clip(%c) {min=-1, max=1}\noutput %y\n",
      "input %x: f32[1x16x9x7]\nconst %w: f32[16x1x3x3]\n"
      "%c = Conv(%x, %w) {pads=[1,1,1,1], group=16}\n%y = Relu(%c)\noutput %y\n",
      "input %x: f32[1x3x12x16]\nconst %w: f32[16x3x3x3]\n"
      "%c = Conv(%x, %w) {pads=[1,1,1,1], strides=[2,2]}\n%y = Relu(%c)\noutput %y\n",
      "input %x: f32[1x8x5x6]\nconst %w: f32[8x6x2x2]\n"
      "%c = ConvTranspose(%x, %w) {strides=[2,2]}\n%y = Relu(%c)\noutput %y\n",
      "input %x: f32[7x40]\nconst %w: f32[40x24]\n%c = MatMul(%x, %w)\n%y = Relu(%c)\noutput %y\n",
  };
  for (const std::string_view target : SimdTargets()) {
    for (const char* text : kTexts) {
      SCOPED_TRACE(text);
      SCOPED_TRACE(target);
      ForceSimdTarget(target);
      EXPECT_GT(RunEach(WithNan(text), target), 0);
    }
  }
  ForceSimdTarget("");
}

}  // namespace
}  // namespace fettle::kernels
