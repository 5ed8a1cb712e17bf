// cpu.block_product.rows: products of one input, with the normalisation that makes it.
#include <fmt/format.h>

#include "kernels/cpu/simd/targets.h"
#include "tests/kernels/kernel_check.h"
#include "tests/kernels/quantised/known_blocks.h"

namespace fettle::kernels {

extern const KernelDesc kCpuBlockProductRows;

namespace {

struct BlockMatrix {
  int64_t columns = 0;
  int bits = 4;
  std::string_view scales = "f16";
  int most = 255;  // of codes of 8 bits
};

constexpr std::string_view kNoNorm = "", kRms = "RMSNormalization(%x, %g)",
                           kCentred = "LayerNormalization(%x, %g, %b)";

/// Products of `rows` rows of 160, normalised before by `norm`.
std::string Siblings(int64_t rows, std::string_view norm,
                     std::initializer_list<BlockMatrix> matrices) {
  std::string text =
      fmt::format("input %x: f32[1x{}x160]\nconst %g: f32[160] = noise(0.5, 1.5)\n", rows);
  if (norm == kCentred) text += "const %b: f32[160] = noise(-0.5, 0.5)\n";
  std::string nodes = norm.empty() ? "" : fmt::format("%a = {} {{axis=-1, epsilon=0.01}}\n", norm);
  std::string outputs;
  for (const BlockMatrix& m : matrices) {
    const size_t i = outputs.size();
    text += fmt::format(
        "const %w{0}: u{1}[{2}x160] = noise(0, {3})\nconst %s{0}: {4}[{2}x5] = noise(0.01, 0.1)\n"
        "const %m{0}: {4}[{2}x5] = noise(-1, 0.1)\n",
        i, m.bits, m.columns, m.bits == 4 ? 15 : m.most, m.scales);
    nodes += fmt::format("%y{0} = BlockMatMul(%{1}, %w{0}, %s{0}, %m{0})\n", i,
                         norm.empty() ? "x" : "a");
    outputs += fmt::format("output %y{}\n", i);
  }
  return text + nodes + outputs;
}

/// A step of a row's bytes, where the normalisation differs from the oracle's in its last digit.
constexpr Tolerance kOneByte = {.atol = 0.2, .rtol = 1e-4};

TEST(BlockProduct, SiblingsOnEveryInstructionSet) {
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    SCOPED_TRACE(target);
    for (const int64_t rows : {1, 3, 9, 70}) {
      for (const std::string_view norm : {kNoNorm, kRms, kCentred}) {
        CheckKernel(kCpuBlockProductRows, Siblings(rows, norm, {{64}, {9}, {37}}), kOneByte);
        CheckKernel(kCpuBlockProductRows, Siblings(rows, norm, {{1, 8}, {200, 4, "f32"}}),
                    kOneByte);
      }
      CheckKernel(kCpuBlockProductRows, Siblings(rows, kRms, {{33, 8, "f32"}}), kOneByte);
      CheckKernel(kCpuBlockProductRows, Siblings(rows, kCentred, {{64}, {9}, {9}, {40}, {33}}),
                  kOneByte);
      // The greatest codes whose sums of eight fit 16 bits, and those behind them.
      for (const int most : {31, 32, 63, 255})
        CheckKernel(kCpuBlockProductRows, Siblings(rows, kNoNorm, {{40, 8, "f16", most}}),
                    kOneByte);
    }
  }
  ForceSimdTarget("");
}

CaseGroup MakeProduct(const Blocks& form, int64_t rows, int64_t n, int64_t k) {
  const std::string text = fmt::format(
      "input %x: f32[{0}x{1}]\nconst %w: {2}[{3}x{1}] = noise(0, {4})\n"
      "const %s: {5}[{3}x{6}] = noise(0.01, 0.1)\nconst %m: {5}[{3}x{6}] = noise(-1, 0.1)\n"
      "%y = BlockMatMul(%x, %w, %s, %m) {{block_size={7}}}\noutput %y\n",
      rows, k, form.bits == 4 ? "u4" : "u8", n, (1 << form.bits) - 1, form.scales, k / form.block,
      form.block);
  ir::Graph graph = ops::Parse(text).value();
  EXPECT_TRUE(ops::InferGraph(graph).ok());
  const auto inputs = graph.nodes()[0].inputs;
  MakeKnown(form, graph, {inputs[1], inputs[2], inputs[3]});
  const std::vector<Tensor> x = ir::NoiseInputs(graph, 1, {}).value();
  return MakeGroup(EvaluateGraph(std::move(graph), x).value(), 0, 1);
}

TEST(BlockProduct, KnownBlocksOnEveryInstructionSet) {
  const CpuDevice& device = TestDevice(3);
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    SCOPED_TRACE(target);
    for (const Blocks& form : kBlockForms) {
      for (const int64_t rows : {1, 2, 4, 7, 8, 9, 70}) {
        const CaseGroup group = MakeProduct(form, rows, 41, 192);
        const auto candidates = CandidatesOf(kCpuBlockProductRows, *group.graph, device);
        ASSERT_TRUE(candidates.ok()) << candidates.status().message();
        const Problem problem{group.graph, (*candidates)[0], 3};
        EXPECT_TRUE(CheckRun({kCpuBlockProductRows, group, problem, {}, "", kOneByte}, device))
            << form.bits << " " << form.block << " " << form.steps << " " << rows;
      }
    }
  }
  ForceSimdTarget("");
}

}  // namespace
}  // namespace fettle::kernels
