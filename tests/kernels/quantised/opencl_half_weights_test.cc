// opencl.half_weights.rows: element-wise operators behind the products, other tiles, refusals.
#include "tests/kernels/opencl/one_kernel.h"

namespace fettle::kernels {

extern const KernelDesc kOpenClHalfWeightsRows;

namespace {

std::string Group(int64_t rows, int64_t n, int64_t k) {
  return fmt::format(
      "input %a: f16[1x{0}x{2}]\ninput %r: f16[1x{0}x{1}]\nconst %w: f16[{2}x{1}]\n"
      "%p = MatMul(%a, %w)\n%y = Add(%r, %p)\noutput %y\n",
      rows, n, k);
}

using OpenClHalfWeights = OneOpenClKernel<kOpenClHalfWeightsRows>;

TEST_F(OpenClHalfWeights, FinishesWithAShortcut) {
  Check(Group(1, 37, 160), 1);
  Check(Group(11, 70, 96), 1);
}

TEST_F(OpenClHalfWeights, OtherTilesDoToo) {
  Check(Group(1, 70, 1120), 1, {{"items", 64}, {"lanes", 8}, {"columns", 8}, {"rows", 1}});
  Check(Group(3, 5, 96), 1, {{"items", 256}, {"lanes", 64}, {"columns", 1}, {"rows", 2}});
}

TEST_F(OpenClHalfWeights, TakesTransposedWeights) {
  Check("input %a: f16[5x64]\nconst %w: f16[9x64]\n%y = Gemm(%a, %w) {transB=1}\noutput %y\n", 1);
}

TEST_F(OpenClHalfWeights, RefusesWhatItCannotCompute) {
  EXPECT_EQ(RefusalOf("input %a: f32[5x64]\nconst %w: f32[64x9]\n%y = MatMul(%a, %w)\noutput %y\n"),
            "weights that 16 bits do not hold");
  EXPECT_EQ(RefusalOf(Group(1, 37, 161)), "rows of 161: no octets");
}

}  // namespace
}  // namespace fettle::kernels
