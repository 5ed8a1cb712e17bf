// Products of weights in 16 bits: exact where weights are halves, within what bf16 rounds
// elsewhere, refused where halves would lose something.
#include <gtest/gtest.h>

#include "kernels/cpu/simd/targets.h"
#include "tensor/compact_floats.h"
#include "tests/kernels/kernel_check.h"

namespace fettle::kernels {

extern const KernelDesc kCpuBf16WeightsGemm;
extern const KernelDesc kCpuF16WeightsGemm;

namespace {

/// The graph of `text` as one group, whose matrices are halves read as floats.
CaseGroup GroupOfHalves(std::string_view text) {
  ir::Graph graph = ops::Parse(text).value();
  EXPECT_TRUE(ops::InferGraph(graph).ok());
  const std::vector<Tensor> inputs = ir::NoiseInputs(graph, 1).value();
  for (size_t i = 0; i < graph.values().size(); ++i) {
    ir::Value& value = graph.value(static_cast<ir::ValueId>(i));
    if (!value.is_constant() || value.dtype != DType::kF32 || value.constant->shape().rank() != 2)
      continue;
    const Tensor halves = PackCompact(*value.constant, CompactLayout{}).value();
    value.constant = std::make_shared<Constant>(
        FromCompact(value.constant->shape(), CompactLayout{}, Constant::FromTensor(halves)));
  }
  const EvaluatedCase evaluated = EvaluateGraph(std::move(graph), inputs).value();
  return MakeGroup(evaluated, 0, evaluated.graph.nodes().size());
}

void CheckOnEveryTarget(const KernelDesc& kernel, const CaseGroup& group) {
  const CpuDevice& device = TestDevice(3);
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    SCOPED_TRACE(target);
    const auto candidates = CandidatesOf(kernel, *group.graph, device);
    ASSERT_TRUE(candidates.ok()) << candidates.status().message();
    for (const StateAssignment& states : *candidates) {
      const KernelRun run{kernel, group, {group.graph, states, 3}, {}, std::string(target)};
      EXPECT_TRUE(CheckRun(run, device));
    }
  }
  ForceSimdTarget("");
}

constexpr const char* kHalfProducts[] = {
    // One row and a bias; rows of several tiles; depths of several slices and of a part of one.
    "input %x: f32[1x600]\nconst %w: f32[600x40]\nconst %b: f32[40]\n"
    "%y = Gemm(%x, %w, %b) {beta=0.5}\noutput %y\n",
    "input %x: f32[13x33]\nconst %w: f32[70x33]\n%y = Gemm(%x, %w) {transB=1}\noutput %y\n",
    "input %x: f32[2x25x512]\nconst %w: f32[512x129]\n%y = MatMul(%x, %w)\noutput %y\n",
    "input %x: f32[260x257]\nconst %w: f32[5x257]\nconst %b: f32[5]\n"
    "%y = Gemm(%x, %w, %b) {transB=1}\noutput %y\n",
    // What follows: bounds, a sum, a chain.
    "input %x: f32[9x300]\nconst %w: f32[300x64]\n%z = MatMul(%x, %w)\n%y = Relu(%z)\noutput %y\n",
    "input %x: f32[9x300]\ninput %r: f32[9x64]\nconst %w: f32[300x64]\n%z = MatMul(%x, %w)\n"
    "%s = Add(%z, %r)\n%y = Relu(%s)\noutput %y\n",
    "input %x: f32[3x300]\nconst %w: f32[300x96]\n%z = MatMul(%x, %w)\n%s = Sigmoid(%z)\n"
    "%y = Mul(%z, %s)\noutput %y\n",
};

class HalfWeights : public testing::TestWithParam<const char*> {};

TEST_P(HalfWeights, AreReadAsTheyAre) {
  CheckOnEveryTarget(kCpuF16WeightsGemm, GroupOfHalves(GetParam()));
}

TEST_P(HalfWeights, LoseNoMoreThanTheirRounding) {
  CheckOnEveryTarget(kCpuBf16WeightsGemm, ParseGroup(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(All, HalfWeights, testing::ValuesIn(kHalfProducts));

TEST(HalfWeights, OfNetworksInHalfPrecisionAreReadAsTheyAre) {
  CheckOnEveryTarget(kCpuF16WeightsGemm, ParseGroup("input %x: f16[5x300]\nconst %w: f16[300x40]\n"
                                                    "%y = MatMul(%x, %w)\noutput %y\n"));
}

TEST(HalfWeights, AreRefusedWhereTheyAreNoHalves) {
  const CpuDevice& device = TestDevice(1);
  const auto refused = [&](const CaseGroup& group) {
    return CandidatesOf(kCpuF16WeightsGemm, *group.graph, device).status().message();
  };
  EXPECT_EQ(refused(ParseGroup(kHalfProducts[2])), "weights that are not f16");
  EXPECT_EQ(refused(GroupOfHalves("input %x: f32[4x64]\nconst %w: f32[64x64]\n"
                                  "%y = Gemm(%x, %w) {alpha=0.3}\noutput %y\n")),
            "weights times a factor");
}

}  // namespace
}  // namespace fettle::kernels
