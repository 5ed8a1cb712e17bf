// Products of bf16: exact where no factor is rounded, within 2^-8 of their terms where factors are,
// refused without the instructions.
#include <gtest/gtest.h>

#include "device/cpu/amx.h"
#include "kernels/cpu/simd/targets.h"
#include "tests/kernels/kernel_check.h"

namespace fettle::kernels {

extern const KernelDesc kCpuBf16GemmAmx;
extern const KernelDesc kCpuBf16GemmDot;

namespace {

/// Those that this machine and this build run.
std::vector<const KernelDesc*> Kernels() {
  std::vector<const KernelDesc*> kernels;
  if (!RunsSimdTarget("AVX3")) return kernels;
  if (GetCpuInfo().avx512_bf16) kernels.push_back(&kCpuBf16GemmDot);
  if (GetCpuInfo().avx512_bf16 && GetAmxSets().bf16) kernels.push_back(&kCpuBf16GemmAmx);
  return kernels;
}

/// `tensor` with every element rounded to the nearest bf16.
Tensor Rounded(const Tensor& tensor) {
  Tensor rounded = Tensor::Create(DType::kF32, tensor.shape()).value();
  for (int64_t i = 0; i < tensor.elements(); ++i)
    rounded.as<float>()[i] = static_cast<float>(BFloat16(tensor.as<float>()[i]));
  return rounded;
}

/// The graph of `text` as one group, whose inputs and constants are bf16 in f32.
CaseGroup RoundedGroup(std::string_view text) {
  ir::Graph graph = ops::Parse(text).value();
  EXPECT_TRUE(ops::InferGraph(graph).ok());
  std::vector<Tensor> inputs = ir::NoiseInputs(graph, 1).value();
  for (Tensor& input : inputs) input = Rounded(input);
  for (size_t i = 0; i < graph.values().size(); ++i) {
    ir::Value& value = graph.value(static_cast<ir::ValueId>(i));
    if (value.is_constant())
      value.constant = std::make_shared<Constant>(
          Constant::FromTensor(Rounded(value.constant->ToTensor().value())));
  }
  const EvaluatedCase evaluated = EvaluateGraph(std::move(graph), inputs).value();
  return MakeGroup(evaluated, 0, evaluated.graph.nodes().size());
}

/// Every state of both kernels with the default parameters and others.
void Check(const CaseGroup& group, std::optional<Tolerance> tolerance) {
  const CpuDevice& device = TestDevice(3);
  for (const KernelDesc* kernel : Kernels()) {
    const auto candidates = CandidatesOf(*kernel, *group.graph, device);
    ASSERT_TRUE(candidates.ok()) << kernel->name << ": " << candidates.status().message();
    for (const StateAssignment& states : *candidates) {
      KernelRun run{*kernel, group, {group.graph, states, 3}, {}, "AVX3"};
      run.tolerance = tolerance;
      for (const Params& params : ParamsToTry(*kernel, run.problem, device)) {
        run.params = params;
        EXPECT_TRUE(CheckRun(run, device));
      }
    }
  }
}

constexpr const char* kGroups[] = {
    // Rows: one, fewer than a tile, several tiles of uneven number; depths and columns off a chunk.
    "input %x: f32[1x96]\nconst %w: f32[96x40]\nconst %b: f32[40]\n"
    "%y = Gemm(%x, %w, %b) {alpha=2.0, beta=0.5}\noutput %y\n",
    "input %x: f32[13x33]\nconst %w: f32[70x33]\n%y = Gemm(%x, %w) {transB=1}\noutput %y\n",
    "input %x: f32[2x50x64]\nconst %w: f32[64x129]\n%y = MatMul(%x, %w)\noutput %y\n",
    "input %x: f32[97x7]\nconst %w: f32[7x5]\nconst %b: f32[5]\n%z = MatMul(%x, %w)\n"
    "%y = Add(%z, %b)\noutput %y\n",
    // Taps that fill chunks, that do not, and that are joined in kernel rows.
    "input %x: f32[1x32x9x11]\nconst %w: f32[48x32x3x3]\nconst %b: f32[48]\n"
    "%y = Conv(%x, %w, %b) {pads=[1,1,1,1]}\noutput %y\n",
    "input %x: f32[2x20x9x7]\nconst %w: f32[36x20x3x3]\n"
    "%y = Conv(%x, %w) {pads=[2,2,2,2], dilations=[2,2]}\noutput %y\n",
    "input %x: f32[1x3x23x29]\nconst %w: f32[16x3x7x7]\n"
    "%y = Conv(%x, %w) {pads=[3,3,3,3], strides=[2,2]}\noutput %y\n",
    // Whole images in one line, groups of channels, one spatial axis.
    "input %x: f32[3x40x5x6]\nconst %w: f32[64x40x1x1]\n%y = Conv(%x, %w)\noutput %y\n",
    "input %x: f32[1x64x6x6]\nconst %w: f32[96x32x3x3]\n"
    "%y = Conv(%x, %w) {group=2, pads=[1,1,1,1]}\noutput %y\n",
    "input %x: f32[1x9x14]\nconst %w: f32[20x9x5]\n%y = Conv(%x, %w) {pads=[2,2]}\noutput %y\n",
    // Several tasks of rows and of panels.
    "input %x: f32[700x64]\nconst %w: f32[64x200]\n%y = MatMul(%x, %w)\noutput %y\n",
};

class Bf16Products : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (Kernels().empty()) GTEST_SKIP() << "no bf16 instructions here";
  }
};

TEST_P(Bf16Products, AreThoseOfF32WhereNoFactorIsRounded) {
  const CaseGroup group = RoundedGroup(GetParam());
  Check(group, GroupTolerance(*group.graph, group.graph->outputs[0], 8));
}

TEST_P(Bf16Products, LoseNoMoreThanTheirFactors) { Check(ParseGroup(GetParam()), std::nullopt); }

INSTANTIATE_TEST_SUITE_P(All, Bf16Products, testing::ValuesIn(kGroups));

TEST(Bf16, FinishesWithClampsAndTails) {
  if (Kernels().empty()) GTEST_SKIP() << "no bf16 instructions here";
  Check(RoundedGroup("input %x: f32[1x32x8x9]\nconst %w: f32[40x32x1x1]\n%z = Conv(%x, %w)\n"
                     "%y = Relu(%z)\noutput %y\n"),
        Tolerance{.atol = 1e-4, .rtol = 1e-5});
  Check(RoundedGroup("input %x: f32[1x32x8x9]\ninput %r: f32[1x40x8x9]\nconst %w: f32[40x32x3x3]\n"
                     "%z = Conv(%x, %w) {pads=[1,1,1,1]}\n%s = Add(%z, %r)\n%y = Relu(%s)\n"
                     "output %y\n"),
        Tolerance{.atol = 1e-4, .rtol = 1e-5});
}

TEST(Bf16, IsRefusedWithoutTheInstructions) {
  const CaseGroup group =
      ParseGroup("input %x: f32[64x64]\nconst %w: f32[64x64]\n%y = MatMul(%x, %w)\noutput %y\n");
  const std::string_view least = SimdTargets().back();
  if (least == "AVX3") GTEST_SKIP() << "no other vectors were compiled in";
  ForceSimdTarget(least);
  const auto tiles = CandidatesOf(kCpuBf16GemmAmx, *group.graph, TestDevice(1));
  const auto vectors = CandidatesOf(kCpuBf16GemmDot, *group.graph, TestDevice(1));
  ForceSimdTarget("");
  ASSERT_FALSE(tiles.ok());
  EXPECT_EQ(tiles.status().message(), "no matrix tiles of bf16 (AMX-BF16)");
  ASSERT_FALSE(vectors.ok());
  EXPECT_EQ(vectors.status().message(), "no dot products of bf16 (AVX512-BF16)");
}

TEST(Bf16, IsNoProductOfItsOwn) {
  const auto reason_of = [](std::string_view text) {
    const auto candidates = CandidatesOf(kCpuBf16GemmDot, *ParseGroup(text).graph, TestDevice(1));
    return candidates.ok() ? std::string() : candidates.status().message();
  };
  if (Kernels().empty()) GTEST_SKIP() << "no bf16 instructions here";
  EXPECT_EQ(reason_of("input %x: f32[1x8x6x6]\nconst %w: f32[8x1x3x3]\n"
                      "%y = Conv(%x, %w) {group=8}\noutput %y\n"),
            "depthwise: a channel has no sums to share");
  EXPECT_EQ(reason_of("input %x: f32[8x8]\ninput %w: f32[8x8]\n%y = MatMul(%x, %w)\noutput %y\n"),
            "computed weights");
}

}  // namespace
}  // namespace fettle::kernels
