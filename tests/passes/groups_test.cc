// Which groups are listed, that none leaves a cycle, and that a fragment computes what its nodes
// do.
#include "passes/groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "listed_groups.h"
#include "ops/cases.h"
#include "ops/op.h"

namespace fettle::passes {
namespace {

using ::testing::Contains;
using ::testing::Not;
using ::testing::StartsWith;

TEST(Groups, EveryNodeAlone) {
  const ir::Graph graph = ParseGraph("input %x\n%a, %b = Split(%x)\n%c = Relu(%a)\noutput %c\n");
  EXPECT_THAT(Listed(graph), Contains("node: Split"));
  EXPECT_THAT(Listed(graph), Contains("node: Relu"));
}

TEST(Groups, EpilogueWithResidualAdd) {
  const ir::Graph graph = ParseGraph(
      "input %x\nconst %w: f32[4x4x1x1]\n%c = Conv(%x, %w)\n%r = Relu(%c)\n%s = Add(%x, %r)\n"
      "%t = Relu(%s)\noutput %t\n");
  const auto listed = Listed(graph);
  EXPECT_THAT(listed, Contains("epilogue: Conv Relu"));
  EXPECT_THAT(listed, Contains("epilogue: Conv Relu Add"));
  EXPECT_THAT(listed, Contains("epilogue: Conv Relu Add Relu"));
  EXPECT_THAT(listed, Contains("chain: Relu Add"));
  EXPECT_THAT(listed, Contains("chain: Add Relu"));
  ExpectSound(graph);
}

TEST(Groups, NormsWithConstantStatisticsAreLinks) {
  const ir::Graph graph = ParseGraph(
      "input %x: f32[1x2x3x3]\nconst %s: f32[2]\n%a = Add(%x, %x)\n"
      "%b = BatchNormalization(%a, %s, %s, %s, %s)\n%y = Relu(%b)\noutput %y\n");
  EXPECT_THAT(Listed(graph), Contains("chain: Add BatchNormalization Relu"));
  EXPECT_THAT(Listed(graph), Contains("chain: BatchNormalization Relu"));
}

TEST(Groups, ChainsEndInTheBitsOfTheirResult) {
  const std::string head =
      "input %x: f32[1x16x4x4]\ninput %z: f32[1x16x4x4]\nconst %v: f32[32x1x1]\n"
      "%g = Concat(%x, %z) {axis=1}\n%a = Add(%g, %v)\n%p = PRelu(%a, %v)\n%b = Add(%p, %v)\n";
  const ir::Graph shared = ParseGraph(
      head + "%h = Add(%b, %v)\n%t = PackBits(%h)\n%n = Neg(%b)\noutput %t\noutput %n\n");
  EXPECT_THAT(Listed(shared), Contains("bits: Add PRelu Add Add PackBits"));
  EXPECT_THAT(Listed(shared), Not(Contains("bits: PRelu Add Add PackBits")));
  // Nobody else reads the sum: shifts before PackBits are a group by another name.
  const ir::Graph alone = ParseGraph(head + "%t = PackBits(%b)\noutput %t\n");
  EXPECT_THAT(Listed(alone), Not(Contains("bits: Add PRelu Add PackBits")));
}

TEST(Groups, ProductsOfBitsEndInTheBitsOfTheirSum) {
  const std::string head =
      "input %x: u64[1x4x4x1]\ninput %s: f32[1x16x4x4]\nconst %w: u64[16x1x1x1]\n"
      "const %r: f32[3x16]\nconst %v: f32[16x1x1]\n%c = BinaryConv(%x, %w, %r) {channels=64}\n"
      "%a = Add(%c, %s)\n";
  const ir::Graph residual = ParseGraph(
      head + "%h = Add(%a, %v)\n%t = PackBits(%h)\n%n = Neg(%a)\noutput %t\noutput %n\n");
  EXPECT_THAT(Listed(residual), Contains("bits: BinaryConv Add Add PackBits"));
  EXPECT_THAT(Listed(residual), Not(Contains("bits: BinaryConv Add PackBits")));
  ExpectSound(residual);
  const ir::Graph alone = ParseGraph(head + "%t = PackBits(%a)\noutput %t\n");
  EXPECT_THAT(Listed(alone), Contains("bits: BinaryConv Add PackBits"));
  ExpectSound(alone);
  // What comes back from outside may depend on the group.
  const ir::Graph outside = ParseGraph(
      head +
      "%n = Neg(%a)\n%h = Add(%a, %n)\n%t = PackBits(%h)\n%g = Neg(%n)\noutput %t\noutput %g\n");
  EXPECT_THAT(Listed(outside), Not(Contains("bits: BinaryConv Add Add PackBits")));
  ExpectSound(outside);
}

TEST(Groups, SeveralReadersEndAChain) {
  const ir::Graph graph = ParseGraph(
      "input %x\nconst %w: f32[4x4x1x1]\n%c = Conv(%x, %w)\n%r = Relu(%c)\n%n = Neg(%c)\n"
      "output %r\noutput %n\n");
  EXPECT_THAT(Listed(graph), Not(Contains("epilogue: Conv Relu")));
  const ir::Graph output =
      ParseGraph("input %x\n%a = Relu(%x)\n%b = Neg(%a)\noutput %a\noutput %b\n");
  EXPECT_THAT(Listed(output), Not(Contains("chain: Relu Neg")));
}

TEST(Groups, OperandsThatDependOnTheGroupKeepItApart) {
  const ir::Graph graph = ParseGraph(
      "input %x\nconst %w: f32[4x4x1x1]\n%c = Conv(%x, %w)\n%p = MaxPool(%c)\n%s = Add(%c, %p)\n"
      "output %s\n");
  EXPECT_THAT(Listed(graph), Not(Contains("epilogue: Conv Add")));
  ExpectSound(graph);
}

TEST(Groups, DiamondsJoin) {
  const ir::Graph graph = ParseGraph(
      "input %x\nconst %w: f32[4x4x1x1]\n%c = Conv(%x, %w)\n%s = Sigmoid(%c)\n%m = Mul(%c, %s)\n"
      "%n = Neg(%m)\noutput %n\n");
  const auto listed = Listed(graph);
  EXPECT_THAT(listed, Contains("epilogue: Conv Sigmoid Mul"));
  EXPECT_THAT(listed, Contains("epilogue: Conv Sigmoid Mul Neg"));
  EXPECT_THAT(listed, Not(Contains("epilogue: Conv Sigmoid")));
  ExpectSound(graph);
}

TEST(Groups, QuantisedOperators) {
  const ir::Graph graph = ParseGraph(
      "input %x: u8\nconst %w: i8[4x4x1x1]\nconst %b: i32[4]\nconst %s: f32[] = 0.1\n"
      "%p = DequantizeLinear(%x, %s)\n%q = DequantizeLinear(%w, %s)\n"
      "%r = DequantizeLinear(%b, %s)\n%c = Conv(%p, %q, %r)\n%a = Relu(%c)\n"
      "%z = QuantizeLinear(%a, %s)\noutput %z\n");
  const auto listed = Listed(graph);
  const std::string body = "DequantizeLinear DequantizeLinear DequantizeLinear Conv";
  EXPECT_THAT(listed, Contains("quantised: " + body));
  EXPECT_THAT(listed, Contains("quantised: " + body + " Relu"));
  EXPECT_THAT(listed, Contains("quantised: " + body + " Relu QuantizeLinear"));
  ExpectSound(graph);
}

TEST(Groups, QuantisedResiduals) {
  const std::string conv =
      "input %x: u8\ninput %o: u8\nconst %w: i8[4x4x1x1]\nconst %s: f32[] = 0.1\n"
      "%p = DequantizeLinear(%x, %s)\n%q = DequantizeLinear(%w, %s)\n%c = Conv(%p, %q)\n"
      "%z = QuantizeLinear(%c, %s)\n%d = DequantizeLinear(%z, %s)\n"
      "%e = DequantizeLinear(%o, %s)\n";
  const ir::Graph graph = ParseGraph(
      conv + "%a = Add(%d, %e)\n%r = Relu(%a)\n%y = QuantizeLinear(%r, %s)\noutput %y\n");
  const std::string body =
      "residual: DequantizeLinear DequantizeLinear Conv QuantizeLinear DequantizeLinear "
      "DequantizeLinear Add Relu QuantizeLinear";
  EXPECT_THAT(Listed(graph), Contains(body));
  ExpectSound(graph);
  // Bytes that others read have to be stored.
  const ir::Graph kept = ParseGraph(
      conv +
      "%a = Add(%d, %e)\n%r = Relu(%a)\n%y = QuantizeLinear(%r, %s)\noutput %y\noutput %z\n");
  EXPECT_THAT(Listed(kept), Not(Contains(body)));
}

TEST(Groups, DynamicallyQuantisedConvolution) {
  const ir::Graph graph = ParseGraph(
      "input %x: u8\ninput %s: f32\nconst %w: i8[4x4x1x1]\nconst %b: f32[4x1x1]\n"
      "%c = ConvInteger(%x, %w)\n%f = Cast(%c) {to=\"f32\"}\n%m = Mul(%f, %s)\n%y = Add(%m, %b)\n"
      "output %y\n");
  EXPECT_THAT(Listed(graph), Contains("epilogue: ConvInteger Cast Mul Add"));
}

TEST(Groups, SeparableConvolutions) {
  const ir::Graph graph = ParseGraph(
      "input %x\nconst %d: f32[4x1x3x3]\nconst %w: f32[8x4x1x1]\n%c = Conv(%x, %d) {group=4}\n"
      "%r = Relu(%c)\n%p = Conv(%r, %w)\n%y = Relu(%p)\noutput %y\n");
  EXPECT_THAT(Listed(graph), Contains("separable: Conv Relu Conv"));
  EXPECT_THAT(Listed(graph), Contains("separable: Conv Relu Conv Relu"));
  ExpectSound(graph);
}

TEST(Groups, Attention) {
  const std::string text =
      "input %x: f32[5x36]\ninput %m: f32[5x5]\nconst %h: i64[3] = 5 9 4\nconst %f: f32[] = 0.5\n"
      "const %z: i64[1] = 0\nconst %t: i64[1] = 3\nconst %s: i64[1] = 6\nconst %e: i64[1] = 9\n"
      "const %o: i64[1] = 1\n%a = Reshape(%x, %h)\n%q = Slice(%a, %z, %t, %o)\n"
      "%k = Slice(%a, %t, %s, %o)\n%v = Slice(%a, %s, %e, %o)\n"
      "%q1 = Transpose(%q) {perm=[1,0,2]}\n%q2 = Mul(%q1, %f)\n%k1 = Transpose(%k) {perm=[1,2,0]}\n"
      "%p = MatMul(%q2, %k1)\n%b = Add(%m, %p)\n%n = Softmax(%b)\n"
      "%v1 = Transpose(%v) {perm=[1,0,2]}\n%r = MatMul(%n, %v1)\n%y = Transpose(%r) "
      "{perm=[1,0,2]}\n";
  const ir::Graph graph = ParseGraph(text + "output %y\n");
  EXPECT_THAT(Listed(graph), Contains("attention: MatMul Add Softmax MatMul"));
  EXPECT_THAT(Listed(graph),
              Contains("attention: Reshape Slice Slice Slice Transpose Mul Transpose MatMul Add "
                       "Softmax Transpose MatMul Transpose"));
  ExpectSound(graph);
  // What others read ends the group.
  const ir::Graph read = ParseGraph(text + "%c = Relu(%r)\noutput %y\noutput %c\noutput %q1\n");
  EXPECT_THAT(Listed(read),
              Contains("attention: Slice Slice Mul Transpose MatMul Add Softmax Transpose MatMul"));
  ExpectSound(read);
  const ir::Graph kept = ParseGraph(text + "output %y\noutput %n\n");
  EXPECT_THAT(Listed(kept), Not(Contains(StartsWith("attention"))));
}

TEST(Groups, NormalisedProducts) {
  const std::string text =
      "input %x: f32[5x4]\ninput %r: f32[5x8]\nconst %w: f32[4x8]\nconst %v: i64[3] = 1 5 8\n"
      "const %s: f32[8]\nconst %t: f32[8]\n%p = MatMul(%x, %w)\n%a = Add(%r, %p)\n"
      "%n = Reshape(%a, %v)\n%y = LayerNormalization(%n, %s, %t)\n";
  for (const char* outputs : {"output %y\n", "output %n\noutput %y\n"}) {
    const ir::Graph graph = ParseGraph(text + outputs);
    EXPECT_THAT(Listed(graph), Contains("normed: MatMul Add Reshape LayerNormalization"));
    EXPECT_THAT(Listed(graph), Contains("normed: Add Reshape LayerNormalization"));
    ExpectSound(graph);
  }
  // What others read before the views ends the group, as do statistics and numbers that are
  // computed.
  const ir::Graph read = ParseGraph(text + "output %a\noutput %y\n");
  EXPECT_THAT(Listed(read), Not(Contains(StartsWith("normed"))));
  const ir::Graph computed = ParseGraph(
      "input %x: f32[5x4]\ninput %s: f32[8]\nconst %w: f32[4x8]\n%p = MatMul(%x, %w)\n"
      "%y = LayerNormalization(%p, %s)\noutput %y\n");
  EXPECT_THAT(Listed(computed), Not(Contains(StartsWith("normed"))));
}

TEST(Groups, NormalisedChannels) {
  const std::string text =
      "input %x: f32[1x8x3x5]\nconst %s: f32[8]\nconst %v: i64[3] = 1 8 15\n%a = Relu(%x)\n"
      "%r = Reshape(%a, %v)\n%l = Transpose(%r) {perm=[0,2,1]}\n"
      "%n = LayerNormalization(%l, %s)\n%y = Transpose(%n) {perm=[0,2,1]}\n";
  const ir::Graph graph = ParseGraph(text + "output %y\n");
  EXPECT_THAT(Listed(graph), Contains("channels: Reshape Transpose LayerNormalization Transpose"));
  EXPECT_THAT(Listed(graph), Contains("channels: Transpose LayerNormalization Transpose"));
  EXPECT_THAT(Listed(graph), Contains("channels: Reshape Transpose LayerNormalization"));
  EXPECT_THAT(Listed(graph), Contains("channels: LayerNormalization Transpose"));
  ExpectSound(graph);
  // What others read ends a group.
  const ir::Graph read = ParseGraph(text + "output %l\noutput %y\n");
  EXPECT_THAT(Listed(read), Contains("channels: LayerNormalization Transpose"));
  EXPECT_THAT(Listed(read), Not(Contains("channels: Transpose LayerNormalization")));
  ExpectSound(read);
  const ir::Graph rows = ParseGraph(text + "output %n\n");
  EXPECT_THAT(Listed(rows), Not(Contains("channels: LayerNormalization Transpose")));
  EXPECT_THAT(Listed(rows), Contains("channels: Transpose LayerNormalization"));
}

TEST(Groups, GatheredMatrices) {
  const std::string text =
      "input %i: i64[6]\ninput %x: f32[6x1x8]\nconst %w: f32[4x8x5]\n%g = Gather(%w, %i)\n"
      "%y = MatMul(%x, %g)\noutput %y\n";
  EXPECT_THAT(Listed(ParseGraph(text)), Contains("gathered: Gather MatMul"));
  // The matrices are read by somebody else, too.
  EXPECT_THAT(Listed(ParseGraph(text + "output %g\n")), Not(Contains(StartsWith("gathered"))));
}

TEST(Groups, Siblings) {
  const std::string text =
      "input %x: f32[1x32]\nconst %g: f32[32]\nconst %w: u4[8x32]\nconst %s: f32[8x1]\n"
      "%a = RMSNormalization(%x, %g)\n%q = BlockMatMul(%a, %w, %s, %s)\n"
      "%k = BlockMatMul(%a, %w, %s, %s)\n%y = Add(%q, %k)\noutput %y\n";
  const ir::Graph graph = ParseGraph(text);
  EXPECT_THAT(Listed(graph), Contains("siblings: BlockMatMul BlockMatMul"));
  EXPECT_THAT(Listed(graph), Contains("siblings: RMSNormalization BlockMatMul BlockMatMul"));
  ExpectSound(graph);
  // Rows that others read, too, are none.
  EXPECT_THAT(Listed(ParseGraph(text + "output %a\n")), Not(Contains(StartsWith("siblings"))));
  EXPECT_THAT(Listed(ParseGraph(text + "%z = Relu(%a)\noutput %z\n")),
              Not(Contains(StartsWith("siblings"))));
}

TEST(Groups, SiblingsOfOneRowByConstants) {
  const auto of_rows = [](int rows) {
    ir::Graph graph = ParseGraph(
        fmt::format("input %x: f32[{}x32]\nconst %g: f32[32]\nconst %w: f32[32x8]\n"
                    "%a = RMSNormalization(%x, %g)\n%q = MatMul(%a, %w)\n%k = MatMul(%a, %w)\n"
                    "%y = Add(%q, %k)\noutput %y\n",
                    rows));
    EXPECT_TRUE(ops::InferGraph(graph).ok());
    return graph;
  };
  const ir::Graph graph = of_rows(1);
  EXPECT_THAT(Listed(graph), Contains("siblings: RMSNormalization MatMul MatMul"));
  EXPECT_THAT(Listed(graph), Not(Contains("siblings: MatMul MatMul")));
  ExpectSound(graph);
  EXPECT_THAT(Listed(of_rows(2)), Not(Contains(StartsWith("siblings"))));
}

TEST(Groups, Moves) {
  const std::string text =
      "input %z: f32[4x6x8]\nconst %a: i64[1] = 0\nconst %b: i64[1] = 2\nconst %c: i64[1] = 4\n"
      "const %s: i64[2] = 24 8\n%x = Relu(%z)\n%p = Slice(%x, %b, %c, %a)\n"
      "%q = Slice(%x, %a, %b, %a)\n%j = Concat(%p, %q) {axis=0}\n%t = Transpose(%j) "
      "{perm=[1,0,2]}\n"
      "%r = Reshape(%t, %s)\n%y = Relu(%r)\n";
  const ir::Graph graph = ParseGraph(text + "%w = Sigmoid(%x)\noutput %y\noutput %w\n");
  EXPECT_THAT(Listed(graph), Contains("moves: Slice Slice Concat Transpose Reshape"));
  ExpectSound(graph);
  // What others read ends the row; a single copy is none.
  EXPECT_THAT(Listed(ParseGraph(text + "output %y\noutput %j\n")),
              Contains("moves: Slice Slice Concat"));
  EXPECT_THAT(Listed(ParseGraph(text + "output %y\noutput %p\n")),
              Not(Contains(StartsWith("moves"))));
}

TEST(Groups, ChainsAreBounded) {
  std::string text = "input %x0\n";
  for (int i = 0; i < 40; ++i) text += fmt::format("%x{} = Relu(%x{})\n", i + 1, i);
  const ir::Graph graph = ParseGraph(text + "output %x40\n");
  size_t longest = 0;
  for (const Group& group : ListGroups(graph)) longest = std::max(longest, group.nodes.size());
  EXPECT_EQ(longest, static_cast<size_t>(kMaxGroupNodes));
}

TEST(Groups, FragmentsComputeWhatTheirNodesDo) {
  ir::Graph graph = ParseGraph(
      "input %x: f32[1x4x5x5]\nconst %w: f32[4x4x1x1]\n%c = Conv(%x, %w)\n%r = Relu(%c)\n"
      "%y = Add(%x, %r)\noutput %y\n");
  ASSERT_TRUE(ops::InferGraph(graph).ok());
  const std::vector<Group> groups = ListGroups(graph);
  const auto whole = std::find_if(groups.begin(), groups.end(),
                                  [](const Group& group) { return group.nodes.size() == 3; });
  ASSERT_NE(whole, groups.end());
  const Fragment fragment = ExtractGroup(graph, *whole);
  EXPECT_EQ(fragment.inputs, graph.inputs);
  EXPECT_EQ(fragment.outputs, graph.outputs);
  EXPECT_EQ(fragment.graph->value(fragment.graph->inputs[0]).name, "x");
  ExpectSameResults(graph, *fragment.graph);
}

TEST(Groups, AllCasesGiveSoundGroups) {
  int checked = 0;
  for (const ops::Case& test : ops::AllCases()) {
    ir::Graph graph = ParseGraph(test.graph);
    ExpectSound(graph);
    ++checked;
  }
  EXPECT_GT(checked, 10);
}

}  // namespace
}  // namespace fettle::passes
