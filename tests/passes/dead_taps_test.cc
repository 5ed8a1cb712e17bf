// Convolutions without the taps that only meet padding.
#include "passes/conv/dead_taps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "equivalence.h"
#include "passes/edit/editor.h"
#include "passes/pipeline.h"

namespace fettle::passes {
namespace {

/// The kernel of the graph's one Conv, as "3x3".
std::string Kernel(const ir::Graph& graph) {
  for (const ir::Node& node : graph.nodes()) {
    if (node.op != "Conv"_op) continue;
    return fmt::format("{}", fmt::join(node.attributes.Ints("kernel_shape"), "x"));
  }
  return "none";
}

std::string Conv(std::string_view x, std::string_view weights, std::string_view attributes) {
  return fmt::format("input %x: f32[{}]\nconst %w: f32[{}]\n%y = Conv(%x, %w) {{{}}}\noutput %y\n",
                     x, weights, attributes);
}

TEST(CutDeadTaps, LeavesTheTapsThatMeetTheInput) {
  struct Cut {
    const char *x, *weights, *attributes, *kernel;
  };
  const Cut cases[] = {
      {"1x3x20x20", "4x3x3x3", "dilations=[24,24], pads=[24,24,24,24]", "1x1"},
      {"1x3x20x30", "4x3x3x3", "dilations=[24,24], pads=[24,24,24,24]", "1x3"},
      {"1x3x9x1", "4x3x3x3", "pads=[1,1,1,1]", "3x1"},
      {"2x6x4x4", "6x1x5x5", "group=6, dilations=[2,2], pads=[4,4,4,4], strides=[2,2]", "3x3"},
      {"1x2x1x1x1", "3x2x3x3x3", "pads=[1,1,1,1,1,1]", "1x1x1"},
      {"1x2x7", "3x2x3", "auto_pad=\"SAME_UPPER\", dilations=[9]", "1"},
  };
  for (const Cut& c : cases) {
    SCOPED_TRACE(c.attributes);
    EXPECT_EQ(Kernel(Rewrite(CutDeadTaps, Conv(c.x, c.weights, c.attributes))), c.kernel);
  }
}

/// What has no dead tap at its ends stays as it is written.
TEST(CutDeadTaps, ChangesNothingElse) {
  for (const char* attributes : {"pads=[1,1,1,1]", "dilations=[12,12], pads=[12,12,12,12]",
                                 "dilations=[9,9]", "strides=[7,7], pads=[1,1,1,1]"}) {
    SCOPED_TRACE(attributes);
    EXPECT_EQ(Ops(Rewrite(CutDeadTaps, Conv("1x3x20x20", "4x3x3x3", attributes))), "Conv");
  }
}

/// The cut weights are a constant, whatever is left of how many.
TEST(CutDeadTaps, CutsLargeWeightsOnce) {
  ir::Graph graph = ParseGraph(Conv("1x1300x1x1", "1300x1300x3x3", "pads=[1,1,1,1]"));
  ASSERT_TRUE(Optimise(graph, {.verify = true}).ok());
  EXPECT_EQ(Kernel(graph), "1x1");
  EXPECT_EQ(Ops(graph), "Conv");
}

TEST(CutDeadTaps, CutsQuantisedWeightsAsTheyAreStored) {
  const ir::Graph graph =
      Rewrite(CutDeadTaps,
              "input %x: f32[1x3x8x8]\nconst %w: i8[4x3x3x3] = noise(-127, 127)\nconst %s: f32[4]\n"
              "%d = DequantizeLinear(%w, %s) {axis=0}\n%y = Conv(%x, %d) {dilations=[8,8], "
              "pads=[8,8,8,8]}\n"
              "output %y\n");
  EXPECT_EQ(Ops(graph), "Slice DequantizeLinear Conv");
  EXPECT_EQ(Kernel(graph), "1x1");
}

TEST(CutDeadTaps, KeepsWhatRandomConvolutionsCompute) {
  std::mt19937 random(24);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  int cut = 0;
  for (int i = 0; i < 300; ++i) {
    const int h = 1 + below(6), w = 1 + below(6), kh = 1 + below(4), kw = 1 + below(4);
    const int dh = 1 + below(7), dw = 1 + below(7);
    int pads[4];
    for (int axis = 0; axis < 2; ++axis) {
      const int span = ((axis == 0 ? kh : kw) - 1) * (axis == 0 ? dh : dw) + 1;
      const int least = std::max(0, span - (axis == 0 ? h : w));
      pads[axis] = below(least + 4);
      pads[axis + 2] = std::max(least - pads[axis], 0) + below(4);
    }
    const std::string text =
        Conv(fmt::format("1x2x{}x{}", h, w), fmt::format("3x2x{}x{}", kh, kw),
             fmt::format("dilations=[{},{}], strides=[{},{}], pads=[{}]", dh, dw, 1 + below(3),
                         1 + below(3), fmt::join(pads, ",")));
    SCOPED_TRACE(text);
    cut += Ops(Rewrite(CutDeadTaps, text)) != "Conv";
  }
  EXPECT_GT(cut, 100);
}

}  // namespace
}  // namespace fettle::passes
