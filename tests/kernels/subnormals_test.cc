// Weights that are half subnormal: every family of kernels agrees with the oracle whether it
// flushes them or not, on any number of threads, and leaves the caller's mode alone.
#include "base/subnormals.h"

#include "kernels/cpu/simd/targets.h"
#include "tests/kernels/kernel_check.h"
#include "tests/kernels/subnormal_weights.h"

namespace fettle::kernels {
namespace {

struct SubnormalCase {
  const char* name;
  const char* graph;
};

constexpr SubnormalCase kSubnormalCases[] = {
    {"conv_pointwise",
     "input %x: f32[1x16x9x9]\nconst %w: f32[24x16x1x1]\nconst %b: f32[24]\n"
     "%c = Conv(%x, %w, %b)\n%y = Relu(%c)\noutput %y\n"},
    {"conv_window",
     "input %x: f32[1x16x12x12]\nconst %w: f32[16x16x3x3]\nconst %b: f32[16]\n"
     "%y = Conv(%x, %w, %b) {pads=[1,1,1,1]}\noutput %y\n"},
    {"conv_few_channels",
     "input %x: f32[1x3x16x16]\nconst %w: f32[8x3x3x3]\n"
     "%y = Conv(%x, %w) {strides=[2,2]}\noutput %y\n"},
    {"conv_few_outputs",
     "input %x: f32[1x32x16x16]\nconst %w: f32[1x32x3x3]\n"
     "%y = Conv(%x, %w) {pads=[1,1,1,1]}\noutput %y\n"},
    {"conv_grouped",
     "input %x: f32[1x16x8x8]\nconst %w: f32[16x4x3x3]\n"
     "%y = Conv(%x, %w) {group=4}\noutput %y\n"},
    {"conv_depthwise",
     "input %x: f32[1x32x11x11]\nconst %w: f32[32x1x3x3]\nconst %b: f32[32]\n"
     "%y = Conv(%x, %w, %b) {pads=[1,1,1,1], group=32}\noutput %y\n"},
    {"conv_transpose",
     "input %x: f32[1x8x7x7]\nconst %w: f32[8x8x4x4]\n"
     "%y = ConvTranspose(%x, %w) {strides=[2,2], pads=[1,1,1,1]}\noutput %y\n"},
    {"matmul", "input %a: f32[17x40]\nconst %b: f32[40x70]\n%y = MatMul(%a, %b)\noutput %y\n"},
    {"matmul_one_row",
     "input %a: f32[1x64]\nconst %b: f32[64x70]\n%y = MatMul(%a, %b)\noutput %y\n"},
    {"matmul_computed",
     "input %a: f32[2x17x40]\ninput %b: f32[2x40x33]\n%y = MatMul(%a, %b)\noutput %y\n"},
    {"elementwise",
     "input %a: f32[1x16x9x9]\nconst %b: f32[16x1x1]\n%m = Mul(%a, %b)\n%y = Add(%m, %a)\n"
     "output %y\n"},
    {"norm",
     "input %x: f32[4x96]\nconst %s: f32[96]\nconst %b: f32[96]\n"
     "%y = LayerNormalization(%x, %s, %b)\noutput %y\n"},
    {"instance_norm",
     "input %x: f32[1x16x9x9]\nconst %s: f32[16]\nconst %b: f32[16]\n"
     "%y = InstanceNormalization(%x, %s, %b)\noutput %y\n"},
    {"pool", "input %x: f32[1x16x9x9]\n%y = AveragePool(%x) {kernel_shape=[3,3]}\noutput %y\n"},
    {"reduce", "input %x: f32[5x7x64]\nconst %a: i64[1] = 2\n%y = ReduceSum(%x, %a)\noutput %y\n"},
    {"softmax", "input %x: f32[12x65]\n%y = Softmax(%x) {axis=-1}\noutput %y\n"},
    {"resize",
     "input %x: f32[1x8x7x7]\nconst %s: f32[4] = 1 1 2 2\n"
     "%y = Resize(%x, _, %s) {mode=\"linear\"}\noutput %y\n"},
    {"recurrent",
     "input %x: f32[3x2x8]\nconst %w: f32[1x24x8]\nconst %r: f32[1x24x6]\n"
     "%y, %h = LSTM(%x, %w, %r) {hidden_size=6}\noutput %y\noutput %h\n"},
};

class SubnormalsTest : public testing::TestWithParam<SubnormalCase> {};

CaseGroup HalfSubnormalGroup(const char* text) {
  ir::NoiseHints hints;
  ir::Graph graph = ops::Parse(text, &hints).value();
  EXPECT_TRUE(ops::InferGraph(graph).ok());
  std::vector<Tensor> inputs = ir::NoiseInputs(graph, 1, hints).value();
  MakeHalfSubnormal(graph, inputs);
  const EvaluatedCase evaluated = EvaluateGraph(std::move(graph), inputs).value();
  return MakeGroup(evaluated, 0, evaluated.graph.nodes().size());
}

TEST_P(SubnormalsTest, FlushedOrKeptAgreesWithTheOracle) {
  const CaseGroup group = HalfSubnormalGroup(GetParam().graph);
  const CpuDevice& device = TestDevice(3);
  int runs = 0;  // of kernels beside the reference
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    for (const KernelDesc* kernel : CpuKernels()) {
      const auto candidates = CandidatesOf(*kernel, *group.graph, device);
      if (!candidates.ok()) continue;
      for (const Subnormals subnormals : {Subnormals::kFlush, Subnormals::kKeep}) {
        const Problem problem{group.graph, (*candidates)[0], 3};
        const KernelRun run{.kernel = *kernel,
                            .group = group,
                            .problem = problem,
                            .params = DefaultParams(*kernel, problem, device),
                            .target = std::string(target),
                            .subnormals = subnormals};
        for (const Subnormals callers : {Subnormals::kFlush, Subnormals::kKeep}) {
          const SubnormalScope scope(callers);
          EXPECT_TRUE(CheckRun(run, device));
          EXPECT_EQ(CurrentSubnormals(), callers) << kernel->name;
          runs += kernel->is_reference() ? 0 : 1;
        }
      }
    }
  }
  ForceSimdTarget("");
  EXPECT_GT(runs, 0) << "no kernel but the reference takes this";
}

INSTANTIATE_TEST_SUITE_P(Families, SubnormalsTest, testing::ValuesIn(kSubnormalCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace fettle::kernels
