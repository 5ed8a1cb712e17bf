#include <fmt/format.h>

#include "kernels/cpu/simd/targets.h"
#include "tests/kernels/kernel_check.h"

namespace fettle::kernels {

extern const KernelDesc kCpuConvTransposeGemmNhwc;

namespace {

TEST(ConvTranspose, AgreesWithTheOracleOnEveryInstructionSet) {
  struct Row {
    const char *x, *w, *b, *attributes;
  };
  static constexpr Row kRows[] = {
      {"1x8x5x7", "8x17x2x2", "17", "strides=[2,2]"},
      {"2x5x6x9", "5x33x4x4", "33", "strides=[2,2], pads=[1,1,1,1]"},
      {"1x5x6x9", "5x4x3x3", "4", "strides=[2,2], pads=[1,1,1,1], output_padding=[1,1]"},
      {"1x5x6x9", "5x4x3x3", "4", ""},
      {"1x5x6x9", "5x4x2x1", "4", "strides=[3,2]"},
      {"1x3x4x4", "3x4x3x3", "4", "dilations=[2,2], strides=[2,1]"},
      {"1x6x5x5", "6x4x3x3", "8", "group=2, strides=[2,2]"},
      {"1x3x9", "3x5x4", "5", "strides=[2]"},
      {"1x3x3x4x5", "3x5x2x2x2", "5", "strides=[2,2,2]"},
      {"1x40x16x16", "40x40x4x4", "40", "strides=[2,2], pads=[1,1,1,1]"},
  };
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    SCOPED_TRACE(target);
    for (const Row& row : kRows) {
      for (const char* tail :
           {"output %c\n", "%y = Relu(%c)\noutput %y\n", "%y = Sigmoid(%c)\noutput %y\n"}) {
        CheckKernel(kCpuConvTransposeGemmNhwc,
                    fmt::format("input %x: f32[{}]\nconst %w: f32[{}]\nconst %b: f32[{}]\n"
                                "%c = ConvTranspose(%x, %w, %b) {{{}}}\n{}",
                                row.x, row.w, row.b, row.attributes, tail),
                    {.atol = 5e-5, .rtol = 1e-5});
      }
    }
  }
  ForceSimdTarget("");
}

}  // namespace
}  // namespace fettle::kernels
