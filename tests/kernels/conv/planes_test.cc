// Convolutions of planes, ordinary and transposed.
#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <string>

#include "kernels/cpu/simd/targets.h"
#include "tests/kernels/kernel_check.h"

namespace fettle::kernels {

extern const KernelDesc kCpuConvPlanes;
extern const KernelDesc kCpuConvTransposePlanes;

namespace {

constexpr char kTails[][64] = {"output %c\n", "%y = Relu(%c)\noutput %y\n",
                               "%y = Sigmoid(%c)\noutput %y\n",
                               "const %k: f32[{}x1x1]\n%y = PRelu(%c, %k)\noutput %y\n"};

/// Random extents of a convolution of two axes.
struct Draw {
  std::mt19937& random;
  int below(int n) const { return static_cast<int>(random() % static_cast<unsigned>(n)); }

  std::string Text(bool transposed) const {
    const int groups = below(2) == 0 ? 1 : 1 + below(4), in = 1 + below(4), out = 1 + below(11);
    int extent[2], kernel[2], stride[2], dilation[2], pads[4];
    for (int axis = 0; axis < 2; ++axis) {
      kernel[axis] = 1 + below(5);
      stride[axis] = 1 + below(5);
      dilation[axis] = 1 + below(3);
      const int span = (kernel[axis] - 1) * dilation[axis] + 1;
      for (int end = 0; end < 2; ++end) pads[axis + 2 * end] = below(3) == 0 ? 0 : below(span + 1);
      const int spare = pads[axis] + pads[axis + 2];
      // Of a transposed convolution the output has strides and the input no padding.
      extent[axis] = transposed ? 1 + below(axis == 0 ? 3 : 24) + spare / stride[axis] + 1
                                : 1 + below(axis == 0 ? 9 : 70) + span + spare;
    }
    const std::string weights = transposed ? fmt::format("{}x{}", groups * in, out)
                                           : fmt::format("{}x{}", groups * out, in);
    std::string text = fmt::format(
        "input %x: f32[{}x{}x{}x{}]\nconst %w: f32[{}x{}x{}]\nconst %b: f32[{}]\n"
        "%c = {}(%x, %w, %b) {{group={}, strides=[{},{}], dilations=[{},{}], pads=[{}]}}\n",
        1 + below(2), groups * in, extent[0], extent[1], weights, kernel[0], kernel[1],
        groups * out, transposed ? "ConvTranspose" : "Conv", groups, stride[0], stride[1],
        dilation[0], dilation[1], fmt::join(pads, ","));
    return text + fmt::format(fmt::runtime(kTails[below(4)]), groups * out);
  }
};

void CheckRandom(const KernelDesc& kernel, bool transposed, unsigned seed) {
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    SCOPED_TRACE(target);
    std::mt19937 random(seed);
    for (int i = 0; i < 60; ++i)
      CheckKernel(kernel, Draw{random}.Text(transposed), {.atol = 5e-5, .rtol = 1e-5});
  }
  ForceSimdTarget("");
}

TEST(ConvPlanes, AgreesWithTheOracleOnEveryInstructionSet) {
  CheckRandom(kCpuConvPlanes, false, 41);
}

TEST(ConvTransposePlanes, AgreesWithTheOracleOnEveryInstructionSet) {
  CheckRandom(kCpuConvTransposePlanes, true, 42);
}

/// Signals that are cut into pieces, volumes, whole planes, filters of one channel.
TEST(ConvPlanes, TakesEveryRank) {
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    SCOPED_TRACE(target);
    for (const char* text :
         {"input %x: f32[1x3x5000]\nconst %w: f32[5x3x4]\n%y = Conv(%x, %w) {strides=[3], "
          "pads=[2,1]}\noutput %y\n",
          "input %x: f32[2x6x1700]\nconst %w: f32[6x3x1]\n%y = Conv(%x, %w) {group=2}\n"
          "output %y\n",
          "input %x: f32[2x3x4x5x19]\nconst %w: f32[4x3x3x2x3]\n%y = Conv(%x, %w) "
          "{pads=[1,0,1,1,1,1], strides=[1,2,1]}\noutput %y\n",
          "input %x: f32[1x9x17x33]\nconst %w: f32[21x9x1x1]\n%y = Conv(%x, %w)\noutput %y\n",
          "input %x: f32[1x5x6x40]\nconst %w: f32[15x1x3x3]\n%y = Conv(%x, %w) {group=5, "
          "dilations=[2,2], pads=[2,2,2,2]}\noutput %y\n"})
      CheckKernel(kCpuConvPlanes, text, {.atol = 5e-5, .rtol = 1e-5});
    for (const char* text :
         {"input %x: f32[1x2x1500]\nconst %w: f32[2x3x5]\n%y = ConvTranspose(%x, %w) "
          "{strides=[3], pads=[2,1]}\noutput %y\n",
          "input %x: f32[1x4x3x4x9]\nconst %w: f32[4x2x2x3x4]\n%y = ConvTranspose(%x, %w) "
          "{group=2, strides=[2,1,2], pads=[0,1,1,1,1,1]}\noutput %y\n",
          "input %x: f32[1x3x5x6]\nconst %w: f32[3x4x1x2]\n%y = ConvTranspose(%x, %w) "
          "{strides=[3,5], output_padding=[1,2]}\noutput %y\n"})
      CheckKernel(kCpuConvTransposePlanes, text, {.atol = 5e-5, .rtol = 1e-5});
  }
  ForceSimdTarget("");
}

}  // namespace
}  // namespace fettle::kernels
