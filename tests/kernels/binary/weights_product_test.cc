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
    EXPECT_TRUE(CheckRun(
        {kCpuBinaryWeights, group, {group.graph, candidates->front(), 3}, {}, std::string(target)},
        device))
        << target;
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

TEST(BinaryWeights, OfThreeValuesAreRefused) {
  const CaseGroup group = ParseGroup(
      "input %x: f32[1x3]\nconst %w: f32[3x2] = 1 2 -1 2 0.5 2\n%y = MatMul(%x, %w)\noutput %y\n");
  const auto candidates = CandidatesOf(kCpuBinaryWeights, *group.graph, TestDevice(1));
  ASSERT_FALSE(candidates.ok());
  EXPECT_EQ(candidates.status().message(), "the weights of output 0 have over two values");
}

}  // namespace
}  // namespace fettle::kernels
