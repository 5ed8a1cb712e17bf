// opencl.half_weights.rows: element-wise operators behind the products, other tiles, refusals.
#include "tests/kernels/opencl/one_kernel.h"

namespace fettle::kernels {

extern const KernelDesc kOpenClHalfWeightsRows, kOpenClHalfWeightsSiblings;

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
            "weights that are not widened from f16 or bf16");
  EXPECT_EQ(RefusalOf(Group(1, 37, 161)), "rows of 161: no octets");
}

/// A row that is normalised, times matrices of `columns`.
std::string Siblings(int64_t k, const std::vector<int64_t>& columns, int64_t rows = 1) {
  std::string text = fmt::format(
      "input %x: f16[1x{0}x{1}]\nconst %g: f16[{1}]\n%a = RMSNormalization(%x, %g) {{axis=-1}}\n",
      rows, k);
  std::string outputs;
  for (size_t i = 0; i < columns.size(); ++i) {
    text += fmt::format("const %w{0}: f16[{1}x{2}]\n%y{0} = MatMul(%a, %w{0})\n", i, k, columns[i]);
    outputs += fmt::format("output %y{}\n", i);
  }
  return text + outputs;
}

using OpenClHalfSiblings = OneOpenClKernel<kOpenClHalfWeightsSiblings>;

TEST_F(OpenClHalfSiblings, NormaliseTheRowThemselves) {
  Check(Siblings(96, {70, 5, 37}), 1);
  Check(Siblings(64, {33, 48}), 1, {{"items", 64}, {"lanes", 16}, {"columns", 2}, {"rows", 1}});
}

/// A pair of products, of which one goes through an activation before both are multiplied.
std::string Pair(int64_t k, int64_t n, std::string_view gate) {
  return fmt::format(
      "input %x: f16[1x1x{0}]\nconst %g: f16[{0}]\nconst %w0: f16[{0}x{1}]\nconst %w1: "
      "f16[{0}x{1}]\n"
      "%a = RMSNormalization(%x, %g) {{axis=-1}}\n%y0 = MatMul(%a, %w0)\n%y1 = MatMul(%a, %w1)\n"
      "{2}output %y\n",
      k, n, gate);
}

TEST_F(OpenClHalfSiblings, PairsBecomeOneRow) {
  Check(Pair(96, 37, "%t = Swish(%y0)\n%y = Mul(%t, %y1)\n"), 1);
  Check(Pair(64, 70, "%t = Gelu(%y1) {approximate=\"tanh\"}\n%y = Mul(%y0, %t)\n"), 1,
        {{"items", 64}, {"lanes", 16}, {"columns", 4}, {"rows", 1}});
  Check(Pair(64, 9, "%t = Gelu(%y0)\n%y = Mul(%y1, %t)\n"), 1);
  EXPECT_EQ(RefusalOf(Pair(64, 9, "%t = Tanh(%y0)\n%y = Mul(%y1, %t)\n")),
            "multiplies by another activation than Swish or Gelu");
  EXPECT_EQ(RefusalOf(Pair(64, 9, "%t = Swish(%y0) {alpha=2.0}\n%y = Mul(%y1, %t)\n")),
            "multiplies by another activation than Swish or Gelu");
}

TEST_F(OpenClHalfSiblings, RefuseWhatTheyCannotCompute) {
  EXPECT_EQ(RefusalOf(Siblings(96, {70})), "computes two or three MatMul of one row only");
  EXPECT_EQ(RefusalOf(Siblings(96, {70, 5}, 2)), "several rows");
  EXPECT_EQ(RefusalOf(Siblings(100, {70, 5})), "rows of 100: no octets");
}

}  // namespace
}  // namespace fettle::kernels
