// opencl.matmul.mma.normed and opencl.norm.chained against the oracle: of one tile of columns and
// several, with edges, in slices, with sums that others read and without; and what they refuse.
// Kernels of rows, however work-items share these.
#include "tests/kernels/opencl/mma_device.h"
#include "tests/kernels/opencl/one_kernel.h"

namespace fettle::kernels {

extern const KernelDesc kOpenClMatMulMmaNormed, kOpenClNormChained;
extern const KernelDesc kOpenClNormInstance, kOpenClNormRows, kOpenClReduceRows, kOpenClSoftmaxRows;

namespace {

using OpenClNormed = OpenClMma;

constexpr std::string_view kOperands =
    "const %w: f32[72x104]\nconst %b: f32[104]\nconst %s: f32[104]\nconst %t: f32[104]\n";

/// As transformers have it: a bias, a residual sum, which is read again behind views.
std::string Residual(std::string_view outputs) {
  return fmt::format(
      "input %x: f32[37x72]\ninput %r: f32[37x104]\n{}const %v: i64[3] = 1 37 104\n"
      "%p = MatMul(%x, %w)\n%q = Add(%p, %b)\n%u = Add(%r, %q)\n%n = Reshape(%u, %v)\n"
      "%y = LayerNormalization(%n, %s, %t) {{epsilon=0.001}}\n{}",
      kOperands, outputs);
}

TEST_F(OpenClNormed, AgreesWithTheOracle) {
  Check(kOpenClMatMulMmaNormed, Residual("output %y\n"));
  Check(kOpenClMatMulMmaNormed, Residual("output %n\noutput %y\n"));
  Check(kOpenClMatMulMmaNormed, Residual("output %u\noutput %y\n"));
  // One tile of columns; neither a mean nor a bias; a row of the addend.
  Check(kOpenClMatMulMmaNormed,
        "input %x: f32[2x19x40]\nconst %w: f32[40x24]\nconst %s: f32[24]\n%p = MatMul(%x, %w)\n"
        "%y = RMSNormalization(%p, %s)\noutput %y\n");
  Check(kOpenClMatMulMmaNormed,
        "input %x: f32[40x64]\nconst %w: f32[64x64]\nconst %b: f32[64]\nconst %s: f32[1]\n"
        "%p = Gemm(%x, %w, %b) {transB=1}\n%g = Gelu(%p)\n%y = LayerNormalization(%g, %s)\n"
        "output %g\noutput %y\n");
}

/// Many matrices, each with rows of its own; B given.
TEST_F(OpenClNormed, EachMatrixHasItsRows) {
  Check(kOpenClMatMulMmaNormed,
        "input %x: f32[3x35x24]\ninput %w: f32[3x24x48]\nconst %s: f32[48]\nconst %t: f32[48]\n"
        "%p = MatMul(%x, %w)\n%y = LayerNormalization(%p, %s, %t)\noutput %p\noutput %y\n");
}

TEST_F(OpenClNormed, OtherTilesDoToo) {
  const std::string both = Residual("output %n\noutput %y\n");
  Check(kOpenClMatMulMmaNormed, both, {{"SPLIT", 3}});
  Check(kOpenClMatMulMmaNormed, both, {{"BK", 64}, {"WK", 2}, {"SPLIT", 2}});
  Check(kOpenClMatMulMmaNormed, both, {{"BM", 64}, {"BN", 64}, {"WM", 32}, {"WN", 32}});
  Check(kOpenClMatMulMmaNormed, Residual("output %y\n"), {{"BN", 128}, {"WN", 64}});
}

/// Rows that whole warps take in turns, of pieces that do not fill them.
TEST_F(OpenClNormed, LongRowsHaveMoreWorkItems) {
  Check(kOpenClMatMulMmaNormed,
        "input %x: f32[33x16]\nconst %w: f32[16x1032]\nconst %s: f32[1032]\nconst %t: f32[1032]\n"
        "%p = MatMul(%x, %w)\n%y = LayerNormalization(%p, %s, %t)\noutput %y\n",
        {{"BM", 64}, {"WM", 32}});
}

/// Operands of all shapes that rows may have, with and without the sum as a result; numbers.
TEST_F(OpenClNormed, ChainsAgreeWithTheOracle) {
  const std::string sum =
      "input %x: f32[2x5x72]\ninput %r: f32[5x72]\nconst %v: i64[3] = 1 10 72\n"
      "const %s: f32[72]\nconst %t: f32[72]\nconst %f: f32[] = 0.3\n%a = Mul(%x, %f)\n"
      "%b = Add(%r, %a)\n%n = Reshape(%b, %v)\n%y = LayerNormalization(%n, %s, %t)\n";
  Check(kOpenClNormChained, sum + "output %y\n");
  Check(kOpenClNormChained, sum + "output %n\noutput %y\n", {{"items", 128}});
  Check(kOpenClNormChained,
        "input %x: f32[3x4x8]\ninput %r: f32[3x1x8]\nconst %s: f32[4x8]\n%a = Add(%x, %r)\n"
        "%y = RMSNormalization(%a, %s) {axis=1}\noutput %y\n");
  Check(kOpenClNormChained,
        "input %x: f32[2x2052]\ninput %r: f32[2x2052]\nconst %s: f32[1]\n%a = Add(%x, %r)\n"
        "%y = LayerNormalization(%a, %s)\noutput %a\noutput %y\n");
}

TEST_F(OpenClNormed, RefusesWhatItCannotCompute) {
  const auto refusal = [&](std::string_view text) {
    return CandidatesOf(kOpenClMatMulMmaNormed, *ParseGroup(text).graph, *device_)
        .status()
        .message();
  };
  const std::string product = "input %x: f32[32x16]\nconst %w: f32[16x24]\n%p = MatMul(%x, %w)\n";
  EXPECT_EQ(refusal(product + "output %p\n"),
            "computes groups that end in a normalisation of rows only");
  EXPECT_EQ(refusal(product + "const %s: f32[32x24]\n%y = LayerNormalization(%p, %s) {axis=0}\n"
                              "output %y\n"),
            "rows of 768 are normalised, the product has 24");
  EXPECT_EQ(refusal(product + "input %s: f32[24]\n%y = LayerNormalization(%p, %s)\noutput %y\n"),
            "a scale or bias that is not constant");
  EXPECT_EQ(refusal("input %x: f32[32x16]\nconst %w: f32[16x4104]\nconst %s: f32[4104]\n"
                    "%p = MatMul(%x, %w)\n%y = LayerNormalization(%p, %s)\noutput %y\n"),
            "rows of 4104: at most 4096");
  EXPECT_EQ(refusal("input %x: f32[32x16]\nconst %w: f32[16x20]\nconst %s: f32[20]\n"
                    "%p = MatMul(%x, %w)\n%y = LayerNormalization(%p, %s)\noutput %y\n"),
            "rows of 20: not a multiple of 8");
  EXPECT_EQ(refusal("input %x: f32[32x16]\nconst %s: f32[16]\n%p = Relu(%x)\n"
                    "%y = LayerNormalization(%p, %s)\noutput %y\n"),
            "computes products of matrices only");
}

TEST_F(OpenClNormed, ChainsThatFillNoQuadsAreRefused) {
  const auto refusal = [&](std::string_view text) {
    return CandidatesOf(kOpenClNormChained, *ParseGroup(text).graph, *device_).status().message();
  };
  EXPECT_EQ(refusal("input %x: f32[3x6]\nconst %s: f32[6]\n%a = Relu(%x)\n"
                    "%y = LayerNormalization(%a, %s)\noutput %y\n"),
            "rows of 6: no quads");
  EXPECT_EQ(refusal("input %x: f32[3x2x6]\ninput %r: f32[3x2x1]\nconst %s: f32[2x6]\n"
                    "%a = Add(%x, %r)\n%y = LayerNormalization(%a, %s) {axis=1}\noutput %y\n"),
            "operands that broadcast along rows of 6");
  EXPECT_EQ(refusal("input %x: f32[3x9000]\nconst %s: f32[9000]\n%a = Relu(%x)\n"
                    "%y = LayerNormalization(%a, %s)\noutput %y\n"),
            "rows of 9000: 256 work-items keep 8192 at most");
}

using OpenClRows = OnOpenCl;

/// Rows that lie beside each other, beyond the last work-group and alone, longer and shorter than
/// their work-items.
TEST_F(OpenClRows, AgreeWithTheOracleHoweverWorkItemsShareThem) {
  struct Shared {
    const KernelDesc& kernel;
    std::string_view text;
    std::vector<std::array<int64_t, 2>> shapes;  // items and columns
  };
  const Shared all[] = {
      {kOpenClReduceRows,
       "input %x: f32[2x90x21]\nconst %a: i64[1] = 1\n%y = ReduceL2(%x, %a)\noutput %y\n",
       {{1, 1}, {16, 1}, {16, 16}, {64, 16}, {1024, 1}}},
      {kOpenClReduceRows,
       "input %x: f32[40x16]\nconst %a: i64[1] = 0\n%y = ReduceMax(%x, %a)\noutput %y\n",
       {{16, 16}, {64, 16}}},
      {kOpenClSoftmaxRows,
       "input %x: f32[2x70x19]\n%y = Softmax(%x) {axis=1}\noutput %y\n",
       {{16, 16}, {64, 16}, {256, 1}}},
      {kOpenClNormRows,
       "input %x: f32[3x4x5x99]\nconst %s: f32[4]\nconst %b: f32[4]\n"
       "%y = GroupNormalization(%x, %s, %b) {num_groups=1}\noutput %y\n",
       {{1, 1}, {16, 1}, {1024, 1}}}};
  for (const Shared& of : all) {
    const CaseGroup group = ParseGroup(of.text);
    const auto candidates = CandidatesOf(of.kernel, *group.graph, *device_);
    ASSERT_TRUE(candidates.ok()) << candidates.status().message();
    for (const auto& [items, columns] : of.shapes) {
      KernelRun run{of.kernel, group, {group.graph, candidates->front(), 1}, {}, ""};
      run.params = {{"items", items}, {"columns", columns}};
      const Status valid = SpaceOf(of.kernel, run.problem, *device_).check(run.params);
      ASSERT_TRUE(valid.ok()) << valid.message();
      EXPECT_TRUE(CheckRun(run, *device_))
          << of.text << items << " items, " << columns << " columns";
    }
  }
}

TEST_F(OpenClRows, ShareOnlyWhatLiesBesideEachOther) {
  const CaseGroup group =
      ParseGroup("input %x: f32[2x90x8]\n%y = Softmax(%x) {axis=1}\noutput %y\n");
  const auto candidates = CandidatesOf(kOpenClSoftmaxRows, *group.graph, *device_);
  ASSERT_TRUE(candidates.ok()) << candidates.status().message();
  const ParamSpace space =
      SpaceOf(kOpenClSoftmaxRows, {group.graph, candidates->front(), 1}, *device_);
  EXPECT_EQ(space.check({{"items", 16}, {"columns", 16}}).message(),
            "columns: expected at most 8 rows beside each other, got 16");
  EXPECT_EQ(space.check({{"items", 1}, {"columns", 16}}).message(),
            "columns: expected 1 where a row has one work-item");
}

/// Planes of one work-group and of several, of means far from zero.
TEST_F(OpenClNormed, PlanesAgreeWithTheOracleInPartsToo) {
  constexpr std::string_view kPlanes =
      "input %x: f32[2x6x33x40]\nconst %s: f32[6]\nconst %b: f32[6]\nconst %o: f32[] = 1000\n"
      "input %r: f32[2x6x33x40]\n%n = InstanceNormalization(%x, %s, %b)\n%a = Add(%n, %r)\n"
      "%y = Relu(%a)\noutput %y\n";
  Check(kOpenClNormInstance, kPlanes, {{"items", 256}, {"parts", 1}});
  Check(kOpenClNormInstance, kPlanes, {{"items", 64}, {"parts", 16}});
  Check(kOpenClNormInstance, kPlanes, {{"items", 256}, {"parts", 4}});
}

/// Rows of one work-group and of several: instances, groups, layers without a mean.
TEST_F(OpenClNormed, RowsAgreeWithTheOracleInPartsToo) {
  constexpr std::string_view kRows[] = {
      "input %x: f32[1x3x3001]\nconst %s: f32[3]\nconst %b: f32[3]\n"
      "%y = InstanceNormalization(%x, %s, %b)\noutput %y\n",
      "input %x: f32[2x6x20x21]\nconst %s: f32[6]\nconst %b: f32[6]\n"
      "%y = GroupNormalization(%x, %s, %b) {num_groups=2}\noutput %y\n",
      "input %x: f32[2x1100]\nconst %s: f32[1100]\n%y = RMSNormalization(%x, %s)\noutput %y\n"};
  for (const std::string_view rows : kRows)
    Check(kOpenClNormRows, rows, {{"items", 256}, {"columns", 1}, {"parts", 4}});
}

}  // namespace
}  // namespace fettle::kernels
