// Transposes, reshapes, shuffles, slices; quantisation; normalisation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "equivalence.h"
#include "passes/find/channel_shuffle.h"
#include "passes/quantise/split_dequantize.h"
#include "passes/rewrite/gather_slices.h"
#include "passes/rewrite/growing_concats.h"
#include "passes/rewrite/index_boxes.h"
#include "passes/rewrite/matmul_reshapes.h"
#include "passes/rewrite/reshapes.h"
#include "passes/rewrite/residual_reshapes.h"
#include "passes/rewrite/sums.h"
#include "passes/rewrite/transposes.h"
#include "passes/rewrite/windows.h"
#include "passes/specialise.h"

namespace fettle::passes {
namespace {

TEST(Transposes, MergeAndCancel) {
  EXPECT_EQ(Ops(Rewrite(MergeTransposes,
                        "input %x: f32[2x3x4]\n%a = Transpose(%x) {perm=[1,2,0]}\n"
                        "%b = Transpose(%a) {perm=[0,2,1]}\n%c = Transpose(%b)\n%y = Relu(%c)\n"
                        "output %y\n",
                        true)),
            "Transpose Relu");
  EXPECT_EQ(Ops(Rewrite(MergeTransposes,
                        "input %x: f32[2x3x4]\n%a = Transpose(%x) {perm=[1,2,0]}\n"
                        "%b = Transpose(%a) {perm=[2,0,1]}\n%y = Relu(%b)\noutput %y\n",
                        false)),
            "Relu");
}

TEST(Transposes, CancelThroughElementwise) {
  const char* text =
      "input %x: f32[2x3x4x5]\nconst %c: f32[] = 2\n%a = Transpose(%x) {perm=[0,2,3,1]}\n"
      "%b = Relu(%a)\n%d = Mul(%b, %c)\n%e = Transpose(%d) {perm=[0,3,1,2]}\n%y = Neg(%e)\n"
      "output %y\n";
  EXPECT_EQ(Ops(Rewrite(MergeTransposes, text)), "Relu Mul Neg");
  EXPECT_EQ(Ops(Rewrite(MergeTransposes, text, false)), "Relu Mul Neg");
  const char* output =
      "input %x: f32[2x3x4]\n%a = Transpose(%x) {perm=[0,2,1]}\n%b = Relu(%a)\n"
      "%y = Transpose(%b) {perm=[0,2,1]}\noutput %y\n";
  EXPECT_EQ(Ops(Rewrite(MergeTransposes, output)), "Relu");
}

TEST(Transposes, OfUnitAxesAreReshapes) {
  EXPECT_EQ(
      Ops(Rewrite(MergeTransposes,
                  "input %x: f32[2x1x4x5]\n%y = Transpose(%x) {perm=[0,2,3,1]}\noutput %y\n")),
      "Reshape");
}

TEST(Reshapes, Merge) {
  const std::string head =
      "input %x: f32[2x3x4]\nconst %s: i64[2] = 6 -1\nconst %t: i64[1] = -1\nconst %u: i64[1] = "
      "0\n";
  EXPECT_EQ(Ops(Rewrite(MergeReshapes,
                        head + "%a = Reshape(%x, %s)\n%b = Reshape(%a, %t)\n%y = Relu(%b)\n"
                               "output %y\n",
                        false)),
            "Reshape Relu");
  const std::string squeezes =
      head +
      "%a = Reshape(%x, %s)\n%b = Unsqueeze(%a, %u)\n%c = Flatten(%b) {axis=2}\n%y = "
      "Relu(%c)\noutput %y\n";
  EXPECT_EQ(Ops(Rewrite(MergeReshapes, squeezes, true)), "Reshape Relu");
  EXPECT_EQ(Ops(Rewrite(MergeReshapes, squeezes, false)), "Reshape Unsqueeze Flatten Relu");
}

TEST(IndexBoxes, GatherNdOfABoxIsASlice) {
  const auto ops = [](std::string_view x, std::string_view indices) {
    return Ops(Rewrite(IndexBoxes, fmt::format("input %x: {}\nconst %i: {}\n%y = GatherND(%x, %i)\n"
                                               "output %y\n",
                                               x, indices)));
  };
  EXPECT_EQ(ops("f32[2x3x4]", "i64[1x2x2] = 1 1 1 2"), "Slice Reshape");
  EXPECT_EQ(ops("f32[2x3x4]", "i64[3x1x2] = -2 0 -2 1 -2 2"), "Slice Reshape");
  // All of the data, as masks of attention have it.
  EXPECT_EQ(ops("f32[2x2x4]", "i64[4x2] = 0 0 0 1 1 0 1 1"), "Reshape");
  EXPECT_EQ(ops("bool[1x3]", "i64[1x2x3x2] = 0 0 0 1 0 2 0 0 0 1 0 2"), "Reshape Expand");
  EXPECT_EQ(ops("f32[4x3]", "i64[2x2x1] = 1 1 2 2"), "Slice Reshape Expand");
  // Tuples of one index in another order.
  EXPECT_EQ(ops("f32[4x3]", "i64[2x2x1] = 3 1 0 2"), "Gather");
  for (const char* other :
       {"i64[2x2] = 0 1 0 0", "i64[2x2] = 0 0 1 1", "i64[3x2] = 0 0 0 1 1 0", "i64[2x2] = 0 1 1 0"})
    EXPECT_EQ(ops("f32[2x3x4]", other), "GatherND") << other;
}

TEST(IndexBoxes, GatherNdOfInnerAxesNeedsNoTranspose) {
  const auto ops = [](std::string_view perm, std::string_view indices, std::string_view back) {
    const auto both = [](ir::Graph& graph) -> Result<bool> {
      RETURN_IF_ERROR(IndexBoxes(graph).status());
      return MergeTransposes(graph);
    };
    return Ops(
        Rewrite(both, fmt::format("input %x: f32[2x3x4x5]\n%a = Transpose(%x) {{perm=[{}]}}\n"
                                  "const %i: {}\n%b = GatherND(%a, %i)\n"
                                  "%y = Transpose(%b) {{perm=[{}]}}\noutput %y\n",
                                  perm, indices, back)));
  };
  EXPECT_EQ(ops("1,2,0,3", "i64[3x2] = 0 1 2 3 0 -1", "1,0,2"), "Reshape Gather");
  EXPECT_EQ(ops("1,0,2,3", "i64[3x1] = 2 0 2", "1,0,2,3"), "Gather");
  EXPECT_EQ(ops("2,3,0,1", "i64[1x3x2] = 0 1 2 3 0 -1", "2,3,0,1"), "Reshape Gather");
  EXPECT_EQ(ops("1,2,0,3", "i64[3x2] = 0 1 2 3 0 1", "0,2,1"), "Reshape Gather Transpose");
  // Axes that do not follow each other, that change their order, and others that do.
  for (const char* perm : {"1,3,0,2", "2,1,0,3", "1,2,3,0", "3,0,1,2"})
    EXPECT_EQ(ops(perm, "i64[3x2] = 0 1 2 1 0 1", "1,0,2"), "Transpose GatherND Transpose") << perm;
}

TEST(IndexBoxes, ScatterNdOfABoxIsAConcat) {
  const auto ops = [](std::string_view x, std::string_view indices, std::string_view updates,
                      std::string_view attributes = "") {
    return Ops(Rewrite(IndexBoxes, fmt::format("input %x: {}\nconst %i: {}\ninput %u: {}\n"
                                               "%y = ScatterND(%x, %i, %u){}\noutput %y\n",
                                               x, indices, updates, attributes)));
  };
  EXPECT_EQ(ops("f32[5x3]", "i64[2x1] = 1 2", "f32[2x3]"), "Slice Slice Concat");
  EXPECT_EQ(ops("f32[5x3]", "i64[2x1] = 3 -1", "f32[2x3]"), "Slice Concat");
  EXPECT_EQ(ops("f32[2x3]", "i64[2x1x2] = 0 2 1 2", "f32[2x1]"), "Slice Concat");
  EXPECT_EQ(ops("f32[2x3]", "i64[1x2x1] = 0 1", "f32[1x2x3]"), "Reshape");
  EXPECT_EQ(ops("f32[5x3]", "i64[2x1] = 2 1", "f32[2x3]"), "ScatterND");
  EXPECT_EQ(ops("f32[5x3]", "i64[2x2] = 1 1 1 2", "f32[2]"), "ScatterND");
  EXPECT_EQ(ops("f32[5x3]", "i64[2x1] = 1 1", "f32[2x3]", " {reduction=\"add\"}"), "ScatterND");
}

TEST(IndexBoxes, PartsOfLaterAxesNeedNoTranspose) {
  const char* text =
      "input %x: f32[2x3x4x5]\ninput %u: f32[2x3x4x4]\nconst %i: i64[4x1] = 1 2 3 4\n"
      "%a = Transpose(%x) {perm=[3,1,2,0]}\n%b = Transpose(%u) {perm=[3,1,2,0]}\n"
      "%c = ScatterND(%a, %i, %b)\n%y = Transpose(%c) {perm=[3,1,2,0]}\noutput %y\n";
  const auto both = [](ir::Graph& graph) -> Result<bool> {
    RETURN_IF_ERROR(IndexBoxes(graph).status());
    return MergeTransposes(graph);
  };
  EXPECT_EQ(Ops(Rewrite(both, text)), "Slice Concat");
}

TEST(ChannelShuffle, IsFound) {
  const char* text =
      "input %x: f32[2x6x3x5]\nconst %s: i64[5] = 2 2 3 3 5\nconst %t: i64[4] = 2 -1 3 5\n"
      "%a = Reshape(%x, %s)\n%b = Transpose(%a) {perm=[0,2,1,3,4]}\n%y = Reshape(%b, %t)\n"
      "output %y\n";
  const ir::Graph graph = Rewrite(FindChannelShuffle, text);
  ASSERT_EQ(Ops(graph), "ChannelShuffle");
  EXPECT_EQ(graph.node(0).attributes.Int("groups"), 2);
  EXPECT_EQ(Ops(Rewrite(FindChannelShuffle, text, false)), "Reshape Transpose Reshape");
}

TEST(ChannelShuffle, SplitInHalvesOfOneImage) {
  const char* text =
      "input %x: f32[1x8x3x5]\nconst %s: i64[3] = 4 2 15\nconst %t: i64[5] = 2 -1 4 3 5\n"
      "%a = Reshape(%x, %s)\n%b = Transpose(%a) {perm=[1,0,2]}\n%y = Reshape(%b, %t)\noutput %y\n";
  const ir::Graph graph = Rewrite(FindChannelShuffle, text);
  ASSERT_EQ(Ops(graph), "ChannelShuffle Reshape");
  EXPECT_EQ(graph.node(0).attributes.Int("groups"), 4);
}

TEST(ChannelShuffle, OtherPermutationsStay) {
  for (const char* text : {
           "input %x: f32[2x6x3x5]\nconst %s: i64[5] = 2 2 3 3 5\nconst %t: i64[4] = 2 -1 3 5\n"
           "%a = Reshape(%x, %s)\n%b = Transpose(%a) {perm=[0,2,1,4,3]}\n%y = Reshape(%b, %t)\n"
           "output %y\n",
           "input %x: f32[2x6x3x5]\nconst %s: i64[5] = 2 2 3 3 5\nconst %t: i64[4] = 2 -1 3 5\n"
           "%a = Reshape(%x, %s)\n%b = Transpose(%a) {perm=[0,3,2,1,4]}\n%y = Reshape(%b, %t)\n"
           "output %y\n",
           "input %x: f32[1x6x8]\nconst %s: i64[4] = 1 6 2 4\nconst %t: i64[3] = 2 6 4\n"
           "%a = Reshape(%x, %s)\n%b = Transpose(%a) {perm=[0,2,1,3]}\n%y = Reshape(%b, %t)\n"
           "output %y\n",
       }) {
    EXPECT_EQ(Ops(Rewrite(FindChannelShuffle, text)), "Reshape Transpose Reshape") << text;
  }
}

TEST(GatherToSlice, Ranges) {
  for (const char* indices : {"i64[3] = 1 3 5", "i64[2] = 5 4", "i64[3] = -1 -3 -5", "i64[1] = 2",
                              "i64[6] = 5 4 3 2 1 0"}) {
    const std::string text = fmt::format(
        "input %x: f32[2x6x3]\nconst %i: {}\n%y = Gather(%x, %i) {{axis=1}}\noutput %y\n", indices);
    EXPECT_EQ(Ops(Rewrite(GatherToSlice, text)), "Slice") << indices;
    EXPECT_EQ(Ops(Rewrite(GatherToSlice, text, false)), "Gather");
  }
  const char* uneven =
      "input %x: f32[2x6]\nconst %i: i64[3] = 0 1 3\n%y = Gather(%x, %i) {axis=1}\noutput %y\n";
  EXPECT_EQ(Ops(Rewrite(GatherToSlice, uneven)), "Gather");
}

TEST(GatherToSlice, Scalars) {
  const char* text =
      "input %x: f32[4x3]\nconst %i: i64[] = -1\n%y = Gather(%x, %i) {axis=0}\noutput %y\n";
  EXPECT_EQ(Ops(Rewrite(GatherToSlice, text)), "Slice Reshape");
  const char* inner =
      "input %x: f32[4x3]\nconst %i: i64[] = 1\n%y = Gather(%x, %i) {axis=1}\noutput %y\n";
  EXPECT_EQ(Ops(Rewrite(GatherToSlice, inner)), "Gather");
  // One element of an axis of one is a view, whatever the shape of the index; other axes are not.
  for (const auto& [shape, ops] : {std::pair("5x1x3", "Slice Reshape"), {"5x2x3", "Gather"}}) {
    const std::string one = fmt::format(
        "input %x: f32[{}]\nconst %i: i64[1x1] = 0\n%y = Gather(%x, %i) {{axis=1}}\noutput %y\n",
        shape);
    EXPECT_EQ(Ops(Rewrite(GatherToSlice, one)), ops) << shape;
  }
}

/// `count` scalar Gathers on one axis of x, joined.
std::string Selects(std::string_view shape, int axis, int count) {
  std::string text = fmt::format("input %x: f32[{}]\n", shape), names;
  for (int i = 0; i < count; ++i) {
    text += fmt::format("const %i{0}: i64[] = {1}\n%g{0} = Gather(%x, %i{0}) {{axis={2}}}\n", i,
                        i % 3 == 1 ? i - count : i, axis);
    names += fmt::format("{}%g{}", i == 0 ? "" : ", ", i);
  }
  return text + fmt::format("%y = Concat({}) {{axis=0}}\noutput %y\n", names);
}

TEST(TransposeBeforeSelects, StepsOfARecurrence) {
  for (const int axis : {1, 2, -1}) {
    const std::string ops = Ops(Rewrite(TransposeBeforeSelects, Selects("3x9x9", axis, 9)));
    EXPECT_EQ(ops.substr(0, 17), "Transpose Gather ") << axis;
    EXPECT_EQ(ops.find("Transpose", 1), std::string::npos) << axis;
  }
}

TEST(TransposeBeforeSelects, NearMissesStay) {
  // The outermost axis, few steps of the axis, few Gathers, unknown shapes, a constant.
  for (const std::string& text :
       {Selects("9x3x3", 0, 9), Selects("1x9x3", 1, 9), Selects("3x19x3", 1, 9),
        Selects("3x7x3", 1, 7), "const" + Selects("3x9x3", 1, 9).substr(5)}) {
    EXPECT_EQ(Ops(Rewrite(TransposeBeforeSelects, text)).substr(0, 6), "Gather") << text;
  }
  EXPECT_EQ(Ops(Rewrite(TransposeBeforeSelects, Selects("3x9x3", 1, 9), false)).substr(0, 6),
            "Gather");
}

TEST(GrowingConcats, TakeTheLongestBeginning) {
  const ir::Graph graph =
      Rewrite(ShareGrowingConcats,
              "input %a: f32[2x3]\ninput %b: f32[2x1]\ninput %c: f32[2x2]\ninput %d: f32[2x4]\n"
              "%ab = Concat(%a, %b) {axis=1}\n%abc = Concat(%a, %b, %c) {axis=1}\n"
              "%abcd = Concat(%a, %b, %c, %d) {axis=1}\noutput %ab\noutput %abc\noutput %abcd\n");
  for (const ir::Node& node : graph.nodes()) EXPECT_EQ(node.inputs.size(), 2u);
  EXPECT_EQ(graph.value(graph.nodes()[ir::NodeId{2}].inputs[0]).name, "abc");
}

TEST(GrowingConcats, KeepOthers) {
  const char* text =
      "input %a: f32[2x3]\ninput %b: f32[2x3]\n%p = Concat(%a, %b) {axis=0}\n"
      "%q = Concat(%a, %b, %a) {axis=1}\n%r = Concat(%b, %a, %b) {axis=0}\n"
      "output %p\noutput %q\noutput %r\n";
  ir::Graph graph = ParseGraph(text);
  EXPECT_FALSE(*ShareGrowingConcats(graph));
}

TEST(Windows, OfReshapedSlicesAreSlices) {
  const char* text =
      "input %x: f32[1x8x3x5]\nconst %s: i64[5] = 2 1 4 3 5\nconst %b: i64[1] = 1\n"
      "const %e: i64[1] = 2\nconst %a: i64[1] = 0\nconst %t: i64[4] = 1 4 3 5\n"
      "%r = Reshape(%x, %s)\n%w = Slice(%r, %b, %e, %a, %b)\n%y = Reshape(%w, %t)\noutput %y\n";
  EXPECT_EQ(Ops(Rewrite(MergeWindows, text)), "Slice");
  const char* two =
      "input %x: f32[2x8x3x5]\nconst %s: i64[5] = 2 2 4 3 5\nconst %b: i64[1] = 1\n"
      "const %e: i64[1] = 2\nconst %a: i64[1] = 1\nconst %t: i64[4] = 2 4 3 5\n"
      "%r = Reshape(%x, %s)\n%w = Slice(%r, %b, %e, %a, %b)\n%y = Reshape(%w, %t)\noutput %y\n";
  EXPECT_EQ(Ops(Rewrite(MergeWindows, two)), "Reshape Slice Reshape");
}

TEST(MatMulReshapes, MoveToTheFront) {
  const char* dense =
      "input %x: f32[2x3x4]\nconst %w: f32[4x5]\nconst %b: f32[5]\nconst %s: i64[2] = 6 4\n"
      "const %t: i64[3] = 2 3 5\n%r = Reshape(%x, %s)\n%m = MatMul(%r, %w)\n%q = Reshape(%m, %t)\n"
      "%y = Add(%q, %b)\noutput %y\n";
  EXPECT_EQ(Ops(Rewrite(MoveReshapesBeforeMatMul, dense)), "MatMul Add");
  const char* other =
      "input %x: f32[2x12]\nconst %w: f32[4x5]\nconst %s: i64[2] = 6 4\n"
      "const %t: i64[4] = 1 2 3 5\n%r = Reshape(%x, %s)\n%m = MatMul(%r, %w)\n"
      "%y = Reshape(%m, %t)\noutput %y\n";
  EXPECT_EQ(Ops(Rewrite(MoveReshapesBeforeMatMul, other)), "Reshape MatMul");
  const char* split =
      "input %x: f32[6x4]\nconst %w: f32[4x6]\nconst %t: i64[3] = 6 2 3\n%m = MatMul(%x, %w)\n"
      "%y = Reshape(%m, %t)\noutput %y\n";
  EXPECT_EQ(Ops(Rewrite(MoveReshapesBeforeMatMul, split)), "MatMul Reshape");
}

TEST(ResidualReshapes, MoveBehindTheSum) {
  const std::string head =
      "input %x: f32[1x6x4]\ninput %z: f32[6x8]\nconst %w: f32[8x4]\nconst %b: f32[4]\n"
      "const %t: i64[3] = 1 6 4\n";
  const std::string reshaped = head + "%g = Gemm(%z, %w, %b)\n%r = Reshape(%g, %t)\n";
  EXPECT_EQ(Ops(Rewrite(MoveReshapesBehindSums, reshaped + "%y = Add(%r, %x)\noutput %y\n")),
            "Gemm Reshape Add Reshape");
  EXPECT_EQ(Ops(Rewrite(MoveReshapesBehindSums,
                        head + "%m = MatMul(%z, %w)\n%a = Add(%b, %m)\n%r = Reshape(%a, %t)\n"
                               "%y = Add(%x, %r)\noutput %y\n")),
            "MatMul Add Reshape Add Reshape");
  // What is read elsewhere, or repeats along the sum, stays.
  EXPECT_EQ(
      Ops(Rewrite(MoveReshapesBehindSums, reshaped + "%y = Add(%r, %x)\noutput %y\noutput %r\n")),
      "Gemm Reshape Add");
  EXPECT_EQ(Ops(Rewrite(MoveReshapesBehindSums,
                        reshaped + "input %c: f32[1x1x4]\n%y = Add(%r, %c)\noutput %y\n")),
            "Gemm Reshape Add");
}

TEST(Sums, OfTwoAreAdds) {
  EXPECT_EQ(Ops(Rewrite(SumToAdd,
                        "input %x: f32[3]\ninput %z: f32[3]\n%a = Sum(%x, %z)\n"
                        "%y = Sum(%a, %x, %z)\noutput %y\n")),
            "Add Sum");
}

TEST(SplitDequantize, OnePerReader) {
  const char* text =
      "input %x: u8[1x2x4x4]\nconst %s: f32[] = 0.1\nconst %w: f32[2x2x1x1]\n"
      "%d = DequantizeLinear(%x, %s)\n%c = Conv(%d, %w)\n%y = Add(%c, %d)\n%z = Mul(%d, %d)\n"
      "output %y\noutput %z\noutput %d\n";
  const ir::Graph graph = Rewrite(SplitDequantize, text);
  int count = 0;
  for (const ir::Node& node : graph.nodes()) count += node.op == "DequantizeLinear" ? 1 : 0;
  EXPECT_EQ(count, 5);
}

TEST(Specialise, NamesWhatWaitsForData) {
  ir::Graph graph = ParseGraph(
      "input %x: f32[2x6]\ninput %s: i64[2]\n%a = Relu(%x)\n%n = Neg(%s)\n%m = Neg(%n)\n"
      "%r = Reshape(%a, %m)\n%y = Relu(%r)\noutput %y\n");
  std::vector<Pending> pending;
  ASSERT_TRUE(Specialise(graph, &pending, {.verify = true}).ok());
  ASSERT_EQ(pending.size(), 1u);
  EXPECT_EQ(graph.node(pending[0].node).op, "Reshape");
  EXPECT_EQ(graph.value(pending[0].value).name, "m");
  EXPECT_FALSE(graph.value(graph.outputs[0]).shape.has_value());
  // The rest, once the data is there.
  const Result<Tensor> data = Tensor::FromVector(Shape{2}, std::vector<int64_t>{3, 4});
  for (ir::ValueId id : graph.inputs) {
    if (graph.value(id).name == "s")
      graph.value(id).constant = std::make_shared<const Constant>(Constant::FromTensor(*data));
  }
  ASSERT_TRUE(Specialise(graph, &pending, {.verify = true}).ok());
  EXPECT_TRUE(pending.empty());
  EXPECT_EQ(graph.value(graph.outputs[0]).shape, (Shape{3, 4}));
}

TEST(Specialise, InputsNeedShapes) {
  ir::Graph graph = ParseGraph("input %x: f32[?x6]\n%y = Relu(%x)\noutput %y\n");
  EXPECT_EQ(Specialise(graph).code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace fettle::passes
