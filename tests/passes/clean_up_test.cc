// Identities, dead code, common sub-expressions, folding, known branches.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

#include "equivalence.h"
#include "passes/clean/common_subexpressions.h"
#include "passes/clean/dead_code.h"
#include "passes/clean/identities.h"
#include "passes/edit/constants.h"
#include "tensor/compact_floats.h"

namespace fettle::passes {
namespace {

TEST(Identities, AreRemoved) {
  const char* text =
      "input %x: f32[2x3x4]\nconst %one: f32[] = 1\nconst %s: i64[3] = 2 3 4\n"
      "%a = Identity(%x)\n%b = Cast(%a) {to=\"f32\"}\n%c = Transpose(%b) {perm=[0,1,2]}\n"
      "%d = Reshape(%c, %s)\n%e = Mul(%one, %d)\n%f = Concat(%e) {axis=1}\n%y = Relu(%f)\n"
      "output %y\n";
  EXPECT_EQ(Ops(Rewrite(RemoveIdentities, text)), "Relu");
}

TEST(Identities, OutputsKeepTheirNames) {
  const char* text =
      "input %x: f32[4]\n%a = Relu(%x)\n%y = Identity(%a)\n%z = Neg(%a)\noutput %y\noutput %z\n";
  EXPECT_EQ(Ops(Rewrite(RemoveIdentities, text)), "Relu Neg");
  const char* from_input = "input %x: f32[4]\n%y = Identity(%x)\noutput %y\n";
  EXPECT_EQ(Ops(Rewrite(RemoveIdentities, from_input)), "Identity");
}

TEST(Identities, BroadcastsAndSignedZerosStay) {
  const char* text =
      "input %x: f32[3]\nconst %one: f32[1x3] = 1 1 1\nconst %zero: f32[] = 0\n"
      "const %minus: f32[] = -0.0\n%a = Mul(%x, %one)\n%b = Add(%a, %zero)\n"
      "%c = Add(%b, %minus)\n%y = Sub(%c, %zero)\noutput %y\n";
  EXPECT_EQ(Ops(Rewrite(RemoveIdentities, text)), "Mul Add");
}

TEST(Identities, SlicesToTheGreatestIntegerTakeAll) {
  const auto sliced = [](int64_t start, int64_t end, int64_t step) {
    const std::string text = fmt::format(
        "input %x: f32[?x3]\nconst %s: i64[1] = {}\nconst %e: i64[1] = {}\nconst %a: i64[1] = 0\n"
        "const %t: i64[1] = {}\n%r = Relu(%x)\n%b = Slice(%r, %s, %e, %a, %t)\n%y = Neg(%b)\n"
        "output %y\n",
        start, end, step);
    return Ops(Rewrite(RemoveIdentities, text, false));
  };
  for (const int64_t end :
       {int64_t{std::numeric_limits<int32_t>::max()}, std::numeric_limits<int64_t>::max()}) {
    EXPECT_EQ(sliced(0, end, 1), "Relu Neg");
    EXPECT_EQ(sliced(0, end, 2), "Relu Slice Neg");
    EXPECT_EQ(sliced(-1, end, 1), "Relu Slice Neg");
  }
  EXPECT_EQ(sliced(0, 1 << 20, 1), "Relu Slice Neg");
}

/// One node after `scale`, which names what it reads.
std::string ResizeText(std::string_view scale, std::string_view operands,
                       std::string_view attributes) {
  return fmt::format(
      "input %x: f32[1x2x5x7]\nconst %s: {}\n%a = Resize(%x, {}) {{{}}}\n%y = Relu(%a)\noutput "
      "%y\n",
      scale, operands, attributes);
}

TEST(Identities, ResizesToTheSameSizeGo) {
  for (const char* mode : {"linear", "cubic", "nearest"}) {
    for (const char* coordinate : {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                                   "align_corners", "asymmetric"}) {
      const std::string attributes =
          fmt::format("mode=\"{}\", coordinate_transformation_mode=\"{}\"", mode, coordinate);
      SCOPED_TRACE(attributes);
      EXPECT_EQ(
          Ops(Rewrite(RemoveIdentities, ResizeText("i64[4] = 1 2 5 7", "_, _, %s", attributes))),
          "Relu");
      EXPECT_EQ(Ops(Rewrite(RemoveIdentities, ResizeText("f32[4] = 1 1 1 1", "_, %s", attributes))),
                "Relu");
    }
  }
}

TEST(Identities, ResizesThatSampleElsewhereStay) {
  const std::pair<std::string, std::string> cases[] = {
      {ResizeText("f32[4] = 1 1 1 1.1", "_, %s", "mode=\"linear\""), "a scale that rounds to 7"},
      {ResizeText("i64[4] = 1 2 5 8", "_, _, %s", "mode=\"linear\""), "another size"},
      {ResizeText("i64[2] = 5 8", "_, _, %s",
                  "mode=\"linear\", axes=[2,3], keep_aspect_ratio_policy=\"not_larger\""),
       "a ratio kept"},
      {ResizeText("f32[4] = 1 1 1 1", "_, %s",
                  "mode=\"nearest\", nearest_mode=\"round_prefer_ceil\", "
                  "coordinate_transformation_mode=\"tf_half_pixel_for_nn\""),
       "half a pixel on"}};
  for (const auto& [text, what] : cases)
    EXPECT_EQ(Ops(Rewrite(RemoveIdentities, text)), "Resize Relu") << what;
  const std::string crop =
      "input %x: f32[1x1x4x4]\nconst %r: f32[8] = 0 0 0 0.3 1 1 0.5 1\nconst %s: i64[4] = 1 1 4 4\n"
      "%a = Resize(%x, %r, _, %s) {mode=\"linear\", "
      "coordinate_transformation_mode=\"tf_crop_and_resize\"}\n%y = Relu(%a)\noutput %y\n";
  EXPECT_EQ(Ops(Rewrite(RemoveIdentities, crop)), "Resize Relu");
}

TEST(DeadCode, UnneededNodesAndOutputsGo) {
  const char* text =
      "input %x: f32[4x6]\n%a = Relu(%x)\n%b = Neg(%a)\n%p, %q = Split(%x) {axis=1, "
      "num_outputs=2}\n"
      "%y = Relu(%q)\noutput %y\n";
  const ir::Graph graph = Rewrite(RemoveDeadCode, text);
  EXPECT_EQ(Ops(graph), "Split Relu");
  EXPECT_EQ(graph.node(0).outputs[0], ir::kAbsent);
}

TEST(CommonSubexpressions, MergeNodesAndConstants) {
  const char* text =
      "input %x: f32[4]\nconst %a: f32[] = 2\nconst %b: f32[] = 2\n%p = Mul(%x, %a)\n"
      "%q = Mul(%x, %b)\n%r = LeakyRelu(%x) {alpha=0.1}\n%s = LeakyRelu(%x) {alpha=0.2}\n"
      "%t = Add(%p, %q)\n%u = Add(%r, %s)\n%y = Add(%t, %u)\noutput %y\n";
  EXPECT_EQ(Ops(Rewrite(MergeCommonSubexpressions, text)), "Mul LeakyRelu LeakyRelu Add Add Add");
}

TEST(CommonSubexpressions, TwoOutputsStayTwo) {
  const char* text = "input %x: f32[4]\n%y = Relu(%x)\n%z = Relu(%x)\noutput %y\noutput %z\n";
  EXPECT_EQ(Ops(Rewrite(MergeCommonSubexpressions, text)), "Relu Relu");
}

ir::Graph Optimised(std::string_view text) {
  const ir::Graph before = ParseGraph(text);
  ir::Graph after = before;
  const Status status = Optimise(after, {.verify = true});
  EXPECT_TRUE(status.ok()) << status.message();
  return after;
}

TEST(Folding, ShapeArithmeticFolds) {
  const char* text =
      "input %x: f32[2x3x4]\nconst %axis: i64[1] = 0\nconst %i: i64[] = 0\nconst %m: i64[1] = -1\n"
      "%s = Shape(%x)\n%g = Gather(%s, %i)\n%u = Unsqueeze(%g, %axis)\n"
      "%t = Concat(%u, %m) {axis=0}\n%y = Reshape(%x, %t)\noutput %y\n";
  const ir::Graph graph = Optimised(text);
  EXPECT_EQ(Ops(graph), "Reshape");
  EXPECT_EQ(graph.value(graph.outputs[0]).shape, (Shape{2, 12}));
  ExpectSameResults(ParseGraph(text), graph);
}

TEST(Folding, SplatsStaySplats) {
  const ir::Graph graph = Optimised(
      "const %s: i64[2] = 30000 30000\nconst %two: f32[] = 2\nconst %t: i64[1] = -1\n"
      "%a = ConstantOfShape(%s) {value=const f32[1] = 3}\n%b = Mul(%a, %two)\n"
      "%y = Reshape(%b, %t)\noutput %y\n");
  ASSERT_EQ(Ops(graph), "");
  const Constant& constant = *graph.value(graph.outputs[0]).constant;
  EXPECT_TRUE(constant.is_splat());
  EXPECT_EQ(constant.shape(), (Shape{900000000}));
  EXPECT_EQ(constant.GetDouble(0), 6);
}

TEST(Folding, MuchLargerResultsStayNodes) {
  const ir::Graph graph = Optimised(
      "const %s: i64[2] = 2 3000000\nconst %x: f32[2x1] = 1 2\n%y = Expand(%x, %s)\noutput %y\n");
  EXPECT_EQ(Ops(graph), "Expand");
}

TEST(Folding, WhatSparesMuchMemoryIsFolded) {
  // Over the elements that other nodes may have; the maxima are 4 KB in place of 20 MB.
  const ir::Graph graph = Optimised(
      "const %p: i8[4000x5000]\nconst %a: i64[1] = 1\n%y = ReduceMax(%p, %a) {keepdims=0}\n"
      "output %y\n");
  EXPECT_EQ(Ops(graph), "");
}

TEST(Folding, AResizedTableOfPositionsIsFolded) {
  // 1.5 MB of 18 KB: computed at each run, it takes longer than layers do.
  const ir::Graph graph = Optimised(
      "input %x: f32[96x64x64]\nconst %p: f32[1x96x7x7]\nconst %s: i64[4] = 1 96 64 64\n"
      "const %r: i64[3] = 96 64 64\n%a = Resize(%p, _, _, %s) {mode=\"cubic\"}\n"
      "%b = Reshape(%a, %r)\n%y = Add(%x, %b)\noutput %y\n");
  EXPECT_EQ(Ops(graph), "Add");
}

TEST(Folding, ALargeResizedTableOfPositionsIsFolded) {
  // 9 MB of 7 KB, in place of as much that each run would write.
  constexpr std::string_view kTable =
      "input %x: f32[1x36x256x256]\nconst %p: f32[1x36x{0}]\nconst %s: i64[4] = 1 36 256 256\n"
      "%r = {1}\n%y = Add(%x, %r)\noutput %y\n";
  EXPECT_EQ(Ops(Optimised(fmt::format(kTable, "7x7", "Resize(%p, _, _, %s) {mode=\"linear\"}"))),
            "Add");
  EXPECT_EQ(Ops(Optimised(fmt::format(kTable, "1x2", "Resize(%p, _, _, %s)"))), "Add");
}

TEST(Folding, ReshapedConstantsShareTheirBytes) {
  const ir::Graph before =
      ParseGraph("const %w: f32[4x600]\nconst %s: i64[1] = -1\n%y = Reshape(%w, %s)\noutput %y\n");
  ir::Graph after = before;
  ASSERT_TRUE(Optimise(after, {.verify = true}).ok());
  EXPECT_EQ(after.value(after.outputs[0]).constant->bytes().data(),
            before.value(0).constant->bytes().data());
}

TEST(Folding, SlicesOfConstantsAreWindows) {
  const char* windows[] = {"2,0 5,9 0,1 1,1",   "0,3 9,7 0,1 2,1",         "-1,0 -20,9 0,1 -2,1",
                           "1,8 2,-9 1,2 1,-3", "3,5,2 4,6,3 0,1,2 1,1,1", "8,0 9,30 0,2 1,1"};
  for (const std::string window : windows) {
    SCOPED_TRACE(window);
    std::string text = "input %x: f32[1]\nconst %w: f32[9x9x12] = noise(-1, 1)\n";
    std::string rest = window + " ", names;
    for (const char* name : {"s", "e", "a", "t"}) {
      std::string list = rest.substr(0, rest.find(' '));
      rest.erase(0, list.size() + 1);
      const auto count = std::ranges::count(list, ',') + 1;
      std::ranges::replace(list, ',', ' ');
      text += fmt::format("const %{}: i64[{}] = {}\n", name, count, list);
      names += fmt::format(", %{}", name);
    }
    text += fmt::format("%v = Slice(%w{})\n%y = Add(%x, %v)\noutput %y\n", names);
    const ir::Graph graph = Optimised(text);
    EXPECT_EQ(Ops(graph), "Add");
    ExpectSameResults(ParseGraph(text), graph);
  }
}

TEST(Folding, LongRowsOfAConstantShareItsBytes) {
  const ir::Graph before = ParseGraph(
      "const %w: f32[40x512]\nconst %s: i64[1] = 3\nconst %e: i64[1] = 30\n"
      "%y = Slice(%w, %s, %e)\noutput %y\n");
  ir::Graph after = before;
  ASSERT_TRUE(Optimise(after, {.verify = true}).ok());
  EXPECT_EQ(after.value(after.outputs[0]).constant->bytes().data(),
            before.value(0).constant->bytes().data() + 3 * 512 * 4);
}

/// A tied embedding: stored once by rows, read by columns.
TEST(Folding, LargeWeightsAreTransposedWithoutACopy) {
  const ir::Graph before = ParseGraph(
      "input %x: f32[2x2900]\nconst %w: f32[2900x2900]\n%t = Transpose(%w) {perm=[1,0]}\n"
      "%y = MatMul(%x, %t)\noutput %y\n");
  ir::Graph after = before;
  ASSERT_TRUE(Optimise(after, {.verify = true}).ok());
  ASSERT_EQ(Ops(after), "MatMul");
  const Constant& transposed = *ConstantOf(after, after.nodes().begin()->inputs[1]);
  const Constant& stored = *ConstantOf(before, before.nodes().begin()->inputs[0]);
  EXPECT_EQ(transposed.raw_bytes().data(), stored.raw_bytes().data());
  ExpectSameResults(before, after, 2e-4);
}

/// A table of positions and what projects it, of more multiply-adds than the reference is asked
/// for.
TEST(Folding, LargeProductsOfConstantsFold) {
  for (const char* shapes : {"331x257 257x259", "3x1x97x257 1x2x257x151"}) {
    const std::string both = shapes;
    const size_t space = both.find(' ');
    const std::string text =
        fmt::format("const %a: f32[{}]\nconst %b: f32[{}]\n%y = MatMul(%a, %b)\noutput %y\n",
                    both.substr(0, space), both.substr(space + 1));
    const ir::Graph before = ParseGraph(text), after = Optimised(text);
    EXPECT_EQ(Ops(after), "") << shapes;
    ExpectSameResults(before, after, 1e-4);
  }
}

TEST(Folding, LargeGemmsOfConstantsFold) {
  for (int flags = 0; flags < 4; ++flags) {
    for (const char* addend : {"", "259", "331x1", "1"}) {
      std::string text = fmt::format("const %a: f32[{}]\nconst %b: f32[{}]\n",
                                     (flags & 1) != 0 ? "257x331" : "331x257",
                                     (flags & 2) != 0 ? "259x257" : "257x259");
      if (*addend != '\0') text += fmt::format("const %c: f32[{}]\n", addend);
      text += fmt::format(
          "%y = Gemm(%a, %b{}) {{alpha=0.5, beta=-2.0, transA={}, transB={}}}\n"
          "output %y\n",
          *addend != '\0' ? ", %c" : "", flags & 1, flags >> 1);
      const ir::Graph before = ParseGraph(text), after = Optimised(text);
      EXPECT_EQ(Ops(after), "") << text;
      ExpectSameResults(before, after, 1e-4);
    }
  }
}

/// Factors of weights: 16 times their bytes at most.
TEST(Folding, ProductsThatAreLargerThanTheirOperandsFold) {
  const std::string text =
      "const %a: f32[700x50]\nconst %b: f32[50x700]\n%y = MatMul(%a, %b)\noutput %y\n";
  const ir::Graph before = ParseGraph(text), after = Optimised(text);
  EXPECT_EQ(Ops(after), "");
  ExpectSameResults(before, after, 1e-4);
}

/// A product that is far larger than its operands stays, for the memory that it would take.
TEST(Folding, OuterProductsStay) {
  EXPECT_EQ(Ops(Optimised("const %a: f32[2100x5]\nconst %b: f32[5x2100]\n%y = MatMul(%a, %b)\n"
                          "output %y\n")),
            "MatMul");
}

TEST(Folding, HalvesAreReadAsFloatsWithoutACopy) {
  const ir::Graph before = ParseGraph(
      "const %w: f16[90x80]\nconst %few: f16[3]\n%y = Cast(%w) {to=\"f32\"}\n"
      "%z = Cast(%few) {to=\"f32\"}\noutput %y\noutput %z\n");
  ir::Graph after = before;
  ASSERT_TRUE(Optimise(after, {.verify = true}).ok());
  ASSERT_EQ(Ops(after), "");
  const Constant& widened = *after.value(after.outputs[0]).constant;
  EXPECT_EQ(CompactFormOf(widened), CompactForm::kHalves);
  EXPECT_EQ(widened.raw_bytes().data(), before.value(0).constant->bytes().data());
  EXPECT_EQ(widened.GetDouble(7), before.value(0).constant->GetDouble(7));
  EXPECT_FALSE(CompactFormOf(*after.value(after.outputs[1]).constant).has_value());
}

constexpr std::string_view kIf =
    "input %x: f32[4]\nconst %c: bool[] = 1\n%y = If(%c, %x) {captures=1, then_branch=graph\n"
    "input %a\n%b = Neg(%a)\noutput %b\nend, else_branch=graph\ninput %a\noutput %a\nend}\n"
    "output %y\n";

TEST(KnownBranches, AreInlined) {
  const ir::Graph graph = Optimised(kIf);
  EXPECT_EQ(Ops(graph), "Neg");
  EXPECT_EQ(graph.value(graph.outputs[0]).name, "y");
  EXPECT_EQ(graph.value(graph.outputs[0]).shape, (Shape{4}));
}

TEST(KnownBranches, SubGraphsAreOptimised) {
  std::string text(kIf);
  text.replace(text.find("const %c: bool[] = 1"), 20, "input %c: bool[]");
  text.replace(text.find("%b = Neg(%a)"), 12, "%i = Identity(%a)\n%b = Neg(%i)");
  const ir::Graph graph = Optimised(text);
  ASSERT_EQ(Ops(graph), "If");
  EXPECT_EQ(Ops(*graph.node(0).attributes.SubGraph("then_branch")), "Neg");
}

}  // namespace
}  // namespace fettle::passes
