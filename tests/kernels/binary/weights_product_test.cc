// cpu.binary.weights on weights of two values: every instruction set, both orders of weights.
#include <gtest/gtest.h>

#include "kernels/cpu/simd/targets.h"
#include "tests/kernels/kernel_check.h"

namespace fettle::kernels {

extern const KernelDesc kCpuBinaryWeights;

namespace {

/// Elements of [rows, columns], `low` or `high` of each output, which lies along columns.
std::string Elements(int64_t rows, int64_t columns, bool outputs_are_columns, bool zero_low) {
  std::string text;
  for (int64_t i = 0; i < rows * columns; ++i) {
    const int64_t output = outputs_are_columns ? i % columns : i / columns;
    const double high = 0.25 * static_cast<double>(output % 5 + 1);
    const double low = zero_low ? 0 : -high;
    text += fmt::format(" {}", i * 2654435761 % 977 % 2 == 0 ? high : low);
  }
  return text;
}

void CheckOnAll(const std::string& text) {
  const CaseGroup group = ParseGroup(text);
  const CpuDevice& device = TestDevice(3);
  for (std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    const auto candidates = CandidatesOf(kCpuBinaryWeights, *group.graph, device);
    ASSERT_TRUE(candidates.ok()) << candidates.status().message();
    for (int threads : {1, 3}) {
      EXPECT_TRUE(CheckRun({kCpuBinaryWeights,
                            group,
                            {group.graph, candidates->front(), threads},
                            {},
                            std::string(target)},
                           device))
          << target;
    }
  }
  ForceSimdTarget("");
}

TEST(BinaryWeights, OfMatMulAgreeWithTheOracle) {
  CheckOnAll(
      fmt::format("input %x: f32[3x77]\nconst %w: f32[77x70] ={}\n%m = MatMul(%x, %w)\n"
                  "%y = Relu(%m)\noutput %y\n",
                  Elements(77, 70, true, false)));
}

TEST(BinaryWeights, OfGemmWithZerosAgreeWithTheOracle) {
  CheckOnAll(
      fmt::format("input %x: f32[1x130]\nconst %w: f32[6x130] ={}\nconst %b: f32[6]\n"
                  "%m = Gemm(%x, %w, %b) {{transB=1, alpha=0.5, beta=2.0}}\n%y = Sigmoid(%m)\n"
                  "output %y\n",
                  Elements(6, 130, false, true)));
}

TEST(BinaryWeights, OfManyRowsAgreeWithTheOracle) {
  for (int rows : {1, 2, 5, 8, 9, 67, 130}) {
    CheckOnAll(
        fmt::format("input %x: f32[{}x45]\nconst %w: f32[45x40] ={}\n%y = MatMul(%x, %w)\n"
                    "output %y\n",
                    rows, Elements(45, 40, true, rows % 2 == 0)));
  }
}

/// Weights [outputs, channels, taps...]; `shape` of the input.
void CheckConv(std::string_view shape, int64_t outputs, int64_t channels, std::string_view kernel,
               int64_t taps, std::string_view attributes) {
  CheckOnAll(fmt::format(
      "input %x: f32[{}]\nconst %w: f32[{}x{}x{}] ={}\nconst %b: f32[{}]\n"
      "%c = Conv(%x, %w, %b) {{{}}}\n%r = Relu(%c)\n%y = Sigmoid(%r)\n"
      "output %y\n",
      shape, outputs, channels, kernel, Elements(outputs, channels * taps, false, outputs % 3 == 0),
      outputs, attributes));
}

TEST(BinaryWeights, OfConvolutionsAgreeWithTheOracle) {
  CheckConv("2x19x9x8", 45, 19, "3x3", 9, "pads=[1,1,1,1]");
  CheckConv("1x33x7x7", 64, 33, "1x1", 1, "");
  CheckConv("1x8x10x9", 33, 8, "3x3", 9, "strides=[2,3], dilations=[2,1], pads=[0,2,1,1]");
  CheckConv("1x24x8x9", 36, 12, "3x3", 9, "group=2, pads=[1,1,1,1]");
  CheckConv("3x12x40", 20, 12, "5", 5, "pads=[2,2], strides=[2]");
  CheckConv("1x3x16x17", 32, 3, "7x7", 49, "pads=[3,3,3,3], strides=[2,2]");
  CheckConv("1x4x5x6x7", 9, 4, "2x3x1", 6, "pads=[1,0,0,0,1,0]");
}

TEST(BinaryWeights, OfSmallGroupsAreRefused) {
  const CaseGroup group = ParseGroup(fmt::format(
      "input %x: f32[1x8x4x4]\nconst %w: f32[8x1x3x3] ={}\n%y = Conv(%x, %w) {{group=8}}\n"
      "output %y\n",
      Elements(8, 9, false, false)));
  const auto candidates = CandidatesOf(kCpuBinaryWeights, *group.graph, TestDevice(1));
  ASSERT_FALSE(candidates.ok());
  EXPECT_EQ(candidates.status().message(), "groups of 1 outputs");
}

TEST(BinaryWeights, OfThreeValuesAreRefused) {
  const CaseGroup group = ParseGroup(
      "input %x: f32[1x3]\nconst %w: f32[3x2] = 1 2 -1 2 0.5 2\n%y = MatMul(%x, %w)\noutput %y\n");
  const auto candidates = CandidatesOf(kCpuBinaryWeights, *group.graph, TestDevice(1));
  ASSERT_FALSE(candidates.ok());
  EXPECT_EQ(candidates.status().message(), "the weights of output 0 have more than two values");
}

}  // namespace
}  // namespace fettle::kernels
