#include <fmt/format.h>

#include <limits>
#include <span>
#include <string>
#include <vector>

#include "kernels/cpu/simd/targets.h"
#include "tests/kernels/kernel_check.h"

namespace fettle::kernels {

extern const KernelDesc kCpuConvGemmNhwc;
extern const KernelDesc kCpuConvTransposeGemmNhwc;
extern const KernelDesc kCpuConvTransposePointwiseRow;

namespace {

struct Row {
  const char *x, *w, *b, *attributes;
};

void CheckRows(const KernelDesc& kernel, std::span<const Row> rows) {
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    SCOPED_TRACE(target);
    for (const Row& row : rows) {
      for (const char* tail :
           {"output %c\n", "%y = Relu(%c)\noutput %y\n", "%y = Sigmoid(%c)\noutput %y\n"}) {
        CheckKernel(kernel,
                    fmt::format("input %x: f32[{}]\nconst %w: f32[{}]\nconst %b: f32[{}]\n"
                                "%c = ConvTranspose(%x, %w, %b) {{{}}}\n{}",
                                row.x, row.w, row.b, row.attributes, tail),
                    {.atol = 5e-5, .rtol = 1e-5});
      }
    }
  }
  ForceSimdTarget("");
}

TEST(ConvTranspose, AgreesWithTheOracleOnEveryInstructionSet) {
  static constexpr Row kRows[] = {
      {"1x8x5x7", "8x17x2x2", "17", "strides=[2,2]"},
      {"2x5x6x9", "5x33x4x4", "33", "strides=[2,2], pads=[1,1,1,1]"},
      {"1x5x6x9", "5x4x3x3", "4", "strides=[2,2], pads=[1,1,1,1], output_padding=[1,1]"},
      {"1x5x6x9", "5x4x3x3", "4", ""},
      {"1x5x6x9", "5x4x2x1", "4", "strides=[3,2]"},
      {"1x3x4x4", "3x4x3x3", "4", "dilations=[2,2], strides=[2,1]"},
      {"1x6x5x5", "6x4x3x3", "8", "group=2, strides=[2,2]"},
      {"1x24x5x7", "24x1x4x4", "24", "group=24, strides=[2,2], pads=[1,1,1,1]"},
      {"1x24x5x7", "24x1x2x2", "6", "group=6, strides=[2,2]"},
      {"2x18x5x6", "18x3x3x3", "18", "group=6, strides=[2,1], pads=[1,1,1,1]"},
      {"1x14x5x6", "14x2x3x3", "14", "group=7, pads=[1,1,1,1]"},
      {"1x3x9", "3x5x4", "5", "strides=[2]"},
      {"1x3x3x4x5", "3x5x2x2x2", "5", "strides=[2,2,2]"},
      {"1x40x16x16", "40x40x4x4", "40", "strides=[2,2], pads=[1,1,1,1]"},
  };
  CheckRows(kCpuConvTransposeGemmNhwc, kRows);
}

TEST(ConvTranspose, TapsApartAgreeWithTheOracleOnEveryInstructionSet) {
  static constexpr Row kRows[] = {
      {"1x8x5x7", "8x17x2x2", "17", "strides=[2,2]"},
      {"2x5x16x19", "5x33x4x4", "33", "strides=[4,4]"},
      {"1x5x6x9", "5x4x2x1", "4", "strides=[3,2], output_padding=[1,1]"},
      {"1x5x6x9", "5x4x1x1", "4", "strides=[2,5]"},
      {"1x5x6x9", "5x14x2x3", "14", "strides=[2,3], pads=[0,0,2,4]"},
      {"1x24x5x7", "24x3x2x2", "18", "group=6, strides=[2,2]"},
      {"2x3x29", "3x5x4", "5", "strides=[4]"},
      {"1x3x3x4x5", "3x5x1x2x2", "5", "strides=[2,2,2]"},
      {"1x520x4x33", "520x7x2x2", "7", "strides=[2,2]"},
  };
  CheckRows(kCpuConvTransposePointwiseRow, kRows);
}

/// A group of `text` whose input has infinity, NaN and the largest number in some places.
CaseGroup WithOddInput(const std::string& text) {
  EvaluatedCase evaluated = EvaluateCase({.name = {}, .graph = text}).value();
  std::vector<Tensor> inputs;
  for (const ir::ValueId id : evaluated.graph.inputs)
    inputs.push_back(evaluated.values[static_cast<size_t>(id)]);
  const std::span<float> x = inputs[0].as<float>();
  x[37] = std::numeric_limits<float>::infinity();
  x[x.size() / 2] = std::numeric_limits<float>::quiet_NaN();
  x[x.size() - 5] = -std::numeric_limits<float>::infinity();
  evaluated = EvaluateGraph(std::move(evaluated.graph), inputs).value();
  return MakeGroup(evaluated, 0, evaluated.graph.nodes().size());
}

TEST(JoinedGroups, KeepInfinityToThemselves) {
  struct OddRow {
    const KernelDesc& kernel;
    const char *op, *w, *oc, *attributes;
  };
  static const OddRow kRows[] = {
      {kCpuConvGemmNhwc, "Conv", "12x2x3x3", "12", "group=12, pads=[1,1,1,1]"},
      {kCpuConvGemmNhwc, "Conv", "24x4x1x1", "24", "group=6"},
      {kCpuConvGemmNhwc, "Conv", "12x2x2x3", "12", "group=12, strides=[2,1], dilations=[1,2]"},
      {kCpuConvTransposeGemmNhwc, "ConvTranspose", "24x1x4x4", "12", "group=12, strides=[2,2]"},
      {kCpuConvTransposeGemmNhwc, "ConvTranspose", "24x2x1x1", "48", "group=24"},
      {kCpuConvTransposePointwiseRow, "ConvTranspose", "24x5x2x1", "60", "group=12, strides=[3,3]"},
      {kCpuConvTransposePointwiseRow, "ConvTranspose", "24x7x2x2", "7", "strides=[2,4]"},
  };
  for (const OddRow& row : kRows) {
    for (const char* tail : {"output %c\n", "%y = Relu(%c)\noutput %y\n"}) {
      const CaseGroup group = WithOddInput(
          fmt::format("input %x: f32[1x24x6x11]\nconst %w: f32[{}]\nconst %b: f32[{}]\n"
                      "%c = {}(%x, %w, %b) {{{}}}\n{}",
                      row.w, row.oc, row.op, row.attributes, tail));
      const auto match = MatchGroup(row.kernel, group.graph, TestDevice(3));
      ASSERT_TRUE(match.ok()) << match.status().message();
      for (const std::string_view target : SimdTargets()) {
        SCOPED_TRACE(fmt::format("{} {} {}", row.op, row.w, target));
        EXPECT_TRUE(CheckRun({row.kernel,
                              group,
                              {group.graph, (*match)->states()[0], 3},
                              {},
                              std::string(target),
                              Tolerance{.atol = 5e-5, .rtol = 1e-5}},
                             TestDevice(3)));
      }
    }
  }
  ForceSimdTarget("");
}

}  // namespace
}  // namespace fettle::kernels
