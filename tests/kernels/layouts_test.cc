// Layout-agnostic operators in every layout of the table, and in one that no table has.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tensor/extra_layout.h"
#include "tests/kernels/kernel_check.h"

namespace fettle::kernels {
namespace {

/// Layouts that an operator is not computed in, and why: the reason is what a reader asks for.
using Refusals = std::map<std::string_view, std::string_view>;

struct Agnostic {
  std::string_view name;
  std::string_view graph;
  Refusals refused = {};
};

void PrintTo(const Agnostic& row, std::ostream* stream) { *stream << row.name; }

Refusals AllBlocked(std::string_view reason) {
  Refusals refusals;
  for (const NamedLayout& row : LayoutTable()) {
    if (row.rank == 4 && !row.layout.blocks.empty()) refusals[row.name] = reason;
  }
  return refusals;
}

const std::vector<Agnostic>& Operators() {
  static const std::vector<Agnostic> kOperators = {
      {"Relu", "input %x: f32[2x32x5x7]\n%y = Relu(%x)\noutput %y\n"},
      {"Sigmoid", "input %x: f32[2x32x5x7]\n%y = Sigmoid(%x)\noutput %y\n"},
      {"HardSwish", "input %x: f32[2x21x5x7]\n%y = HardSwish(%x)\noutput %y\n"},
      {"Clip6", "input %x: f32[2x32x5x7]\n%y = Clip(%x)\noutput %y\n"},
      {"Half", "input %x: f16[2x32x5x7]\n%y = Exp(%x)\noutput %y\n"},
      {"Add", "input %x: f32[2x32x5x7]\ninput %b: f32[2x32x5x7]\n%y = Add(%x, %b)\noutput %y\n"},
      {"AddChannels",
       "input %x: f32[2x21x5x7]\nconst %b: f32[1x21x1x1]\n%y = Add(%x, %b)\noutput %y\n"},
      {"ScaleByChannels",
       "input %x: f32[2x21x5x7]\ninput %b: f32[2x21x1x1]\n%y = Mul(%x, %b)\noutput %y\n"},
      {"ScaleByPixels",
       "input %x: f32[2x32x5x7]\ninput %b: f32[2x1x5x7]\n%y = Mul(%x, %b)\noutput %y\n"},
      {"AddVector", "input %x: f32[2x32x5x7]\ninput %b: f32[7]\n%y = Add(%x, %b)\noutput %y\n"},
      {"PRelu", "input %x: f32[2x21x5x7]\nconst %s: f32[21x1x1]\n%y = PRelu(%x, %s)\noutput %y\n"},
      {"BatchNormalization",
       "input %x: f32[2x21x5x7]\nconst %s: f32[21]\nconst %b: f32[21]\nconst %m: f32[21]\n"
       "const %v: f32[21] = noise(0.5, 2)\n%y = BatchNormalization(%x, %s, %b, %m, %v)\n"
       "output %y\n"},
      {"DequantizeLinear",
       "input %x: u8[2x21x5x7]\nconst %s: f32[] = 0.05\nconst %z: u8[] = 7\n"
       "%y = DequantizeLinear(%x, %s, %z)\noutput %y\n"},
      {"QuantizeLinear",
       "input %x: f32[2x21x5x7]\nconst %s: f32[] = 0.05\nconst %z: u8[] = 7\n"
       "%y = QuantizeLinear(%x, %s, %z)\noutput %y\n"},
      {"TableLookup",
       "input %x: u8[2x21x5x7]\nconst %t: u8[256]\n%y = TableLookup(%x, %t)\noutput %y\n"},
      {"Not", "input %x: bool[2x32x5x7]\n%y = Not(%x)\noutput %y\n"},
      {"AddIntegers",
       "input %x: i32[2x32x5x7]\nconst %b: i32[1x32x1x1]\n%y = Add(%x, %b)\noutput %y\n"},
      {"MaxPool",
       "input %x: f32[2x21x9x7]\n%y = MaxPool(%x) {kernel_shape=[3,3], strides=[2,2], "
       "pads=[1,1,1,1]}\noutput %y\n"},
      {"MaxPoolOfBytes",
       "input %x: u8[2x21x9x7]\n%y = MaxPool(%x) {kernel_shape=[2,2], strides=[2,2]}\noutput %y\n"},
      {"AveragePool",
       "input %x: f32[2x21x9x7]\n%y = AveragePool(%x) {kernel_shape=[3,3], pads=[1,1,1,1]}\n"
       "output %y\n"},
      {"GlobalAveragePool", "input %x: f32[2x21x9x7]\n%y = GlobalAveragePool(%x)\noutput %y\n"},
      {"GlobalMaxPool", "input %x: f32[2x21x9x7]\n%y = GlobalMaxPool(%x)\noutput %y\n"},
      {"ResizeNearest",
       "input %x: f32[2x21x5x7]\nconst %s: f32[4] = 1 1 2 2\n"
       "%y = Resize(%x, _, %s) {coordinate_transformation_mode=\"asymmetric\", "
       "mode=\"nearest\", nearest_mode=\"floor\"}\noutput %y\n"},
      {"ResizeLinear",
       "input %x: f32[2x21x5x7]\nconst %s: f32[4] = 1 1 2 1.5\n%y = Resize(%x, _, %s) "
       "{mode=\"linear\"}\noutput %y\n"},
      {"ResizeCubic",
       "input %x: f32[2x21x5x7]\nconst %s: f32[4] = 1 1 1.5 2\n%y = Resize(%x, _, %s) "
       "{mode=\"cubic\"}\noutput %y\n"},
      {"GridSample",
       "input %x: f32[2x21x5x7]\ninput %g: f32[2x4x6x2] = noise(-1.3, 1.3)\n"
       "%y = GridSample(%x, %g) {mode=\"cubic\"}\noutput %y\n"},
      {"GridSampleConstant",
       "input %x: f32[2x32x5x7]\nconst %g: f32[2x4x6x2] = noise(-1.3, 1.3)\n"
       "%y = GridSample(%x, %g)\noutput %y\n"},
      {"ConcatChannels",
       "input %x: f32[2x32x5x7]\ninput %b: f32[2x64x5x7]\n%y = Concat(%x, %b) {axis=1}\n"
       "output %y\n"},
      {"ConcatUnevenChannels",
       "input %x: f32[2x21x5x7]\ninput %b: f32[2x27x5x7]\n%y = Concat(%x, %b) {axis=1}\n"
       "output %y\n"},
      {"ConcatRows",
       "input %x: f32[2x21x5x7]\ninput %b: f32[2x21x3x7]\n%y = Concat(%x, %b) {axis=2}\n"
       "output %y\n"},
      {"SplitChannels",
       "input %x: f32[2x64x5x7]\n%y, %z = Split(%x) {axis=1}\noutput %y\noutput %z\n"},
      {"SliceWindow",
       "input %x: f32[2x21x9x7]\nconst %s: i64[2] = 1 0\nconst %e: i64[2] = 8 6\n"
       "const %a: i64[2] = 2 3\nconst %t: i64[2] = 2 1\n%y = Slice(%x, %s, %e, %a, %t)\n"
       "output %y\n"},
      {"SliceChannels",
       "input %x: f32[2x45x5x7]\nconst %s: i64[1] = 3\nconst %e: i64[1] = 43\n"
       "const %a: i64[1] = 1\n%y = Slice(%x, %s, %e, %a)\noutput %y\n"},
      {"Pad",
       "input %x: f32[2x21x5x7]\nconst %p: i64[8] = 0 0 1 2 0 0 2 1\n%y = Pad(%x, %p)\n"
       "output %y\n"},
      {"PadChannels",
       "input %x: f32[2x21x5x7]\nconst %p: i64[8] = 0 5 0 0 0 7 0 0\n%y = Pad(%x, %p)\n"
       "output %y\n"},
      {"TransposeImage",
       "input %x: f32[2x21x5x7]\n%y = Transpose(%x) {perm=[0,1,3,2]}\noutput %y\n"},
      {"DepthToSpace", "input %x: f32[2x84x5x7]\n%y = DepthToSpace(%x) {blocksize=2}\noutput %y\n"},
      {"PixelShuffle",
       "input %x: f32[2x96x5x7]\n%y = DepthToSpace(%x) {blocksize=2, mode=\"CRD\"}\noutput %y\n"},
      {"SpaceToDepth", "input %x: f32[2x21x4x6]\n%y = SpaceToDepth(%x) {blocksize=2}\noutput %y\n"},
      {"ChannelShuffle",
       "input %x: f32[2x32x5x7]\n%y = ChannelShuffle(%x) {groups=4}\noutput %y\n"},
      {"Tile",
       "input %x: f32[2x32x5x7]\nconst %r: i64[4] = 1 1 2 3\n%y = Tile(%x, %r)\noutput %y\n"},
      {"Flatten", "input %x: f32[2x32x5x7]\n%y = Flatten(%x)\noutput %y\n"},
      {"SplitHeads",
       "input %x: f32[2x32x5x7]\nconst %s: i64[4] = 2 4 8 35\n%y = Reshape(%x, %s)\noutput %y\n"},
      {"ReduceImage",
       "input %x: f32[2x21x5x7]\nconst %a: i64[2] = 2 3\n%y = ReduceMean(%x, %a)\noutput %y\n"},
      {"ReduceRows",
       "input %x: f32[2x21x5x7]\nconst %a: i64[1] = 3\n%y = ReduceMax(%x, %a)\noutput %y\n"},
      {"SoftmaxRows", "input %x: f32[2x21x5x7]\n%y = Softmax(%x) {axis=3}\noutput %y\n"},
      {"InstanceNormalization",
       "input %x: f32[2x32x5x7]\nconst %s: f32[32]\nconst %b: f32[32]\n"
       "%y = InstanceNormalization(%x, %s, %b)\noutput %y\n"},
      {"GroupNormalization",
       "input %x: f32[2x32x5x7]\nconst %s: f32[32]\nconst %b: f32[32]\n"
       "%y = GroupNormalization(%x, %s, %b) {num_groups=8}\noutput %y\n"},
      {"SoftmaxChannels", "input %x: f32[2x64x5x7]\n%y = Softmax(%x) {axis=1}\noutput %y\n",
       AllBlocked("a row is cut into lanes and blocks that lie apart")},
      {"ReduceChannels",
       "input %x: f32[2x64x5x7]\nconst %a: i64[1] = 1\n%y = ReduceSum(%x, %a)\noutput %y\n",
       AllBlocked("a row is cut into lanes and blocks that lie apart")},
      {"LRN", "input %x: f32[2x32x5x7]\n%y = LRN(%x) {size=5}\noutput %y\n",
       AllBlocked("the window over channels reaches over blocks")},
  };
  return kOperators;
}

/// The layouts of the first input for which a kernel other than the reference has a candidate.
std::set<std::string> CoveredLayouts(const ir::Graph& graph) {
  std::set<std::string> covered;
  for (const KernelDesc* kernel : CpuKernels()) {
    if (kernel->is_reference()) continue;
    const auto candidates = CandidatesOf(*kernel, graph, TestDevice(1));
    if (!candidates.ok()) continue;
    for (const StateAssignment& states : *candidates)
      covered.insert(LayoutName(states.inputs[0].layout, 4));
  }
  return covered;
}

std::string NameOfAgnostic(const testing::TestParamInfo<Agnostic>& info) {
  return std::string(info.param.name);
}

class LayoutAgnosticTest : public testing::TestWithParam<Agnostic> {};

TEST_P(LayoutAgnosticTest, HasAFastKernelInEveryLayout) {
  const CaseGroup test = ParseGroup(GetParam().graph);
  const Shape& x = *test.graph->value(test.graph->inputs[0]).shape;
  const std::set<std::string> covered = CoveredLayouts(*test.graph);
  for (const Layout& layout : LayoutsOfRank(4)) {
    const std::string name = LayoutName(layout, 4);
    const bool is_padding = PhysicalElements(x, layout) > 2 * x.elements();
    const bool expected = !is_padding && !GetParam().refused.contains(name);
    EXPECT_EQ(covered.contains(name), expected) << name;
  }
}

/// A row of the table for one test: channels outermost, in blocks that divide nothing here.
NamedLayout Invented() { return {"CNHW6c", 4, {.order = {1, 0, 2, 3}, .blocks = {{1, 6}}}}; }

/// Operators of which no kernel takes the invented layout, and why.
const Refusals& NotInvented() {
  static const Refusals kReasons = {
      {"AddIntegers", "the constant's channels are not padded as the output's are"},
      {"InstanceNormalization", "channels with pad lanes, or before the batch"},
      {"GroupNormalization", "channels with pad lanes, or before the batch"},
  };
  return kReasons;
}

/// Whether all operands of rank 4 that have the channels are in the invented layout, however many
/// axes the others have.
bool IsInvented(const StateAssignment& states, const ir::Graph& graph) {
  const int64_t channels = (*graph.value(graph.inputs[0]).shape)[1];
  const auto agree = [&](const std::vector<ir::ValueId>& ids, const std::vector<State>& of_ids) {
    for (size_t i = 0; i < ids.size(); ++i) {
      const Shape& shape = *graph.value(ids[i]).shape;
      const bool has_channels = shape.rank() == 4 && shape[1] >= channels / 4;
      if (has_channels && of_ids[i].layout != Invented().layout) return false;
    }
    return true;
  };
  return agree(graph.inputs, states.inputs) && agree(graph.outputs, states.outputs);
}

TEST_P(LayoutAgnosticTest, AgreesWithTheOracleInAnInventedLayout) {
  const ExtraLayout row(Invented());
  const CaseGroup group = ParseGroup(GetParam().graph);
  int runs = 0;
  for (const KernelDesc* kernel : CpuKernels()) {
    const auto candidates = CandidatesOf(*kernel, *group.graph, TestDevice(3));
    if (kernel->is_reference() || !candidates.ok()) continue;
    for (const StateAssignment& states : *candidates) {
      if (!IsInvented(states, *group.graph)) continue;
      const Problem problem{group.graph, states, 3};
      const KernelRun run{*kernel, group, problem, DefaultParams(*kernel, problem, TestDevice(3)),
                          ""};
      EXPECT_TRUE(CheckRun(run, TestDevice(3)));
      ++runs;
    }
  }
  const bool is_refused = !GetParam().refused.empty() || NotInvented().contains(GetParam().name);
  EXPECT_EQ(runs == 0, is_refused) << runs << " kernels take " << Invented().name;
}

INSTANTIATE_TEST_SUITE_P(All, LayoutAgnosticTest, testing::ValuesIn(Operators()), NameOfAgnostic);

}  // namespace
}  // namespace fettle::kernels
