// Products of rows by weights of 2, 4 and 8 bits that stay packed, on TestOpenClDevice().
#include "tests/kernels/opencl/one_kernel.h"

namespace fettle::kernels {

extern const KernelDesc kOpenClWeightOnlyMatMul;

namespace {

using WeightOnlyTest = OneOpenClKernel<kOpenClWeightOnlyMatMul>;

struct Row {
  int m, k, n, block;  // block 0: a scale per column
  const char *type, *range, *zeros;
  const char* attributes = "";
};

/// Blocks and depths that are no multiples of a step, and columns that are none of a panel.
constexpr Row kRows[] = {
    {1, 64, 33, 16, "i4", "-8, 7", ""},
    {1, 300, 17, 64, "u4", "0, 15", "0, 15"},
    {2, 37, 70, 12, "u4", "0, 15", ""},
    {3, 100, 32, 0, "i8", "-128, 127", ""},
    {5, 50, 40, 0, "u8", "0, 255", "0, 255"},
    {8, 96, 130, 32, "i8", "-128, 127", "-9, 9"},
    {9, 19, 20, 1, "u4", "0, 15", "0, 15"},
    {4, 128, 48, 32, "u4", "0, 3", "0, 3", ", bits=2"},
    {1, 83, 16, 16, "u4", "0, 3", "2, 2", ", bits=2"},
};

std::string TextOf(const Row& row, std::string_view tail = "output %y\n") {
  const int blocks = row.block == 0 ? 1 : (row.k + row.block - 1) / row.block;
  const std::string scales =
      row.block == 0 ? fmt::format("{}", row.n) : fmt::format("{}x{}", blocks, row.n);
  const bool zeros = *row.zeros != 0;
  return fmt::format(
      "input %x: f32[{0}x{1}]\nconst %w: {2}[{1}x{3}] = noise({4})\n"
      "const %s: f32[{5}] = noise(0.005, 0.01)\n{6}"
      "%d = DequantizeLinear(%w, %s{7}) {{axis={8}, block_size={9}{10}}}\n"
      "%y = MatMul(%x, %d)\n{11}",
      row.m, row.k, row.type, row.n, row.range, scales,
      zeros ? fmt::format("const %z: {}[{}] = noise({})\n", row.type, scales, row.zeros) : "",
      zeros ? ", %z" : "", row.block == 0 ? 1 : 0, row.block, row.attributes, tail);
}

TEST_F(WeightOnlyTest, AgreesWithTheOracle) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(TextOf(row));
    Check(TextOf(row));
  }
}

TEST_F(WeightOnlyTest, SharesTheDepthAmongWorkItems) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(TextOf(row));
    Check(TextOf(row), 2, {{"TM", 1}, {"VW", 4}, {"COLS", 4}, {"LANES", 4}});
  }
  Check(TextOf(kRows[5]), 2, {{"TM", 4}, {"VW", 1}, {"COLS", 16}, {"LANES", 8}});
}

TEST_F(WeightOnlyTest, GemmWithTransposedWeightsAndARow) {
  for (const std::string_view addend : {"", "33", "1x33", "1"}) {
    SCOPED_TRACE(addend);
    Check(
        fmt::format("input %x: f32[6x50]\nconst %w: u4[33x50] = noise(0, 15)\n"
                    "const %s: f32[33x4] = noise(0.01, 0.1)\n"
                    "const %z: u4[33x4] = noise(0, 15)\n{}"
                    "%d = DequantizeLinear(%w, %s, %z) {{axis=1, block_size=16}}\n"
                    "%g = Gemm(%x, %d{}) {{transB=1, beta=2.0}}\n%y = Relu(%g)\noutput %y\n",
                    addend.empty() ? "" : fmt::format("const %c: f32[{}]\n", addend),
                    addend.empty() ? "" : ", %c"));
  }
}

TEST_F(WeightOnlyTest, FinishesElementWiseChains) {
  Check(TextOf(kRows[1], "const %c: f32[17]\n%a = Add(%y, %c)\n%g = Gelu(%a)\noutput %g\n"));
  Check(TextOf(kRows[5], "input %r: f32[8x130]\n%a = Add(%y, %r)\noutput %a\n"));
}

TEST_F(WeightOnlyTest, RefusesWhatIsNoProductOfFewBits) {
  EXPECT_NE(RefusalOf("input %x: f32[2x4]\nconst %w: i16[4x3]\nconst %s: f32[] = 0.5\n"
                      "%d = DequantizeLinear(%w, %s)\n%y = MatMul(%x, %d)\noutput %y\n"),
            "");
}

TEST_F(WeightOnlyTest, RefusesToStoreBytes) {
  EXPECT_NE(RefusalOf("input %x: f32[2x5]\nconst %w: i8[5x7]\nconst %s: f32[] = 0.5\n"
                      "const %sy: f32[] = 0.05\nconst %zy: u8[] = 100\n"
                      "%d = DequantizeLinear(%w, %s)\n%m = MatMul(%x, %d)\n"
                      "%y = QuantizeLinear(%m, %sy, %zy)\noutput %y\n"),
            "");
}

}  // namespace
}  // namespace fettle::kernels
