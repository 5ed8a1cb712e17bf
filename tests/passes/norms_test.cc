// Normalisations spelled out in primitive operators, products with a constant left operand, and
// poolings of norms.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "equivalence.h"
#include "passes/find/group_norm.h"
#include "passes/find/layer_norm.h"
#include "passes/rewrite/constant_left.h"
#include "passes/rewrite/spell_norm_pools.h"

namespace fettle::passes {
namespace {

constexpr std::string_view kNormHead =
    "input %x: f32[2x3x8]\nconst %g: f32[8]\nconst %b: f32[8]\nconst %e: f32[] = 1e-5\n"
    "const %two: f32[] = 2\nconst %half: f32[] = 0.5\nconst %axes: i64[1] = -1\n"
    "%m = ReduceMean(%x, %axes)\n%d = Sub(%x, %m)\n";

TEST(LayerNorm, AllSpellings) {
  const std::pair<const char*, const char*> spellings[] = {
      {"%q = Pow(%d, %two)\n%v = ReduceMean(%q, %axes)\n%a = Add(%v, %e)\n%r = Sqrt(%a)\n"
       "%n = Div(%d, %r)\n%s = Mul(%n, %g)\n%y = Add(%s, %b)\noutput %y\n",
       "LayerNormalization"},
      {"%q = Mul(%d, %d)\n%v = ReduceMean(%q, %axes)\n%a = Add(%e, %v)\n%r = Sqrt(%a)\n"
       "%i = Reciprocal(%r)\n%n = Mul(%d, %i)\n%s = Mul(%g, %n)\n%y = Add(%b, %s)\noutput %y\n",
       "LayerNormalization"},
      {"%q = Mul(%d, %d)\n%v = ReduceMean(%q, %axes)\n%a = Add(%v, %e)\n%r = Pow(%a, %half)\n"
       "%y = Div(%d, %r)\noutput %y\n",
       "LayerNormalization"},
  };
  for (const auto& [body, ops] : spellings) {
    EXPECT_EQ(Ops(Rewrite(FindLayerNorm, std::string(kNormHead) + body)), ops) << body;
  }
}

/// The normalisation of a sum whose shape nobody says, of `rows` and what a product makes.
std::string SumNorm(const std::string& rows, int64_t size) {
  return "input %h: f32[2x3x5]\ninput %i: i64[2x3]\ninput %l: f32[2x3x8]\n"
         "input %z: i64[2]\nconst %t: f32[9x8]\nconst %w: f32[5x8]\nconst %c: f32[5x1]\n"
         "const %k: i64[1] = 8\nconst %j: i64[1] = -1\nconst %e: f32[] = 1e-5\n"
         "const %g: f32[" +
         std::to_string(size) + "]\nconst %two: f32[] = 2\nconst %axes: i64[1] = -1\n" + rows +
         "%q = Pow(%x, %two)\n%v = ReduceMean(%q, %axes)\n%a = Add(%v, %e)\n%r = Sqrt(%a)\n"
         "%d = Reciprocal(%r)\n%n = Mul(%x, %d)\n%y = Mul(%n, %g)\noutput %y\n";
}

TEST(LayerNorm, FindsRowsOfUnknownShapes) {
  const auto ops = [](const std::string& text) {
    ir::Graph graph = ParseGraph(text);
    for (ir::ValueId id : graph.values().ids())
      if (!graph.value(id).is_constant()) graph.value(id).shape.reset();
    EXPECT_TRUE(FindLayerNorm(graph).ok());
    return Ops(graph);
  };
  EXPECT_EQ(ops(SumNorm("%x = Gather(%t, %i)\n", 8)), "Gather RMSNormalization");
  EXPECT_EQ(ops(SumNorm("%m = MatMul(%h, %w)\n%x = Add(%l, %m)\n", 8)),
            "MatMul Add RMSNormalization");
  EXPECT_EQ(ops(SumNorm("%s = Concat(%z, %k) {axis=0}\n%x = Reshape(%l, %s)\n", 8)),
            "Concat Reshape RMSNormalization");
  const std::string spelt = " Pow ReduceMean Add Sqrt Reciprocal Mul Mul";
  // A scale that repeats rows of one element, or is repeated; rows that nobody knows.
  EXPECT_EQ(ops(SumNorm("%x = MatMul(%h, %c)\n", 8)), "MatMul" + spelt);
  EXPECT_EQ(ops(SumNorm("%m = MatMul(%h, %c)\n%x = Add(%l, %m)\n", 8)), "MatMul Add" + spelt);
  EXPECT_EQ(ops(SumNorm("%x = Swish(%l)\n", 8)), "Swish" + spelt);
  EXPECT_EQ(ops(SumNorm("%s = Concat(%z, %j) {axis=0}\n%x = Reshape(%l, %s)\n", 8)),
            "Concat Reshape" + spelt);
}

TEST(LayerNorm, OtherAxesStay) {
  std::string text(kNormHead);
  text.replace(text.find("= -1"), 4, "= 1");
  text +=
      "%q = Mul(%d, %d)\n%v = ReduceMean(%q, %axes)\n%a = Add(%v, %e)\n%r = Sqrt(%a)\n"
      "%n = Div(%d, %r)\n%y = Mul(%n, %g)\noutput %y\n";
  EXPECT_EQ(Ops(Rewrite(FindLayerNorm, text)), "ReduceMean Sub Mul ReduceMean Add Sqrt Div Mul");
}

// Rows of one element that a longer scale or shift repeats are no longer those of x.
TEST(LayerNorm, OperandsThatRepeatRowsStay) {
  for (const auto& [scale, shift, ops] : {std::tuple("4", "1", "LayerNormalization Mul Add"),
                                          {"1", "4", "LayerNormalization Add"},
                                          {"1", "1", "LayerNormalization"}}) {
    const std::string text = fmt::format(
        "input %x: f32[3x1]\nconst %g: f32[{}]\nconst %b: f32[{}]\nconst %e: f32[] = 1e-5\n"
        "const %axes: i64[1] = -1\n%m = ReduceMean(%x, %axes)\n%d = Sub(%x, %m)\n"
        "%q = Mul(%d, %d)\n%v = ReduceMean(%q, %axes)\n%a = Add(%v, %e)\n%r = Sqrt(%a)\n"
        "%n = Div(%d, %r)\n%s = Mul(%n, %g)\n%y = Add(%s, %b)\noutput %y\n",
        scale, shift);
    EXPECT_EQ(Ops(Rewrite(FindLayerNorm, text)), ops) << text;
  }
}

constexpr std::string_view kSquareHead =
    "input %x: f32[2x3x8]\nconst %g: f32[8]\nconst %e: f32[] = 1e-5\nconst %two: f32[] = 2\n"
    "const %half: f32[] = -0.5\nconst %axes: i64[1] = -1\n";

TEST(RmsNorm, AllSpellings) {
  const std::pair<const char*, const char*> spellings[] = {
      {"%q = Pow(%x, %two)\n%v = ReduceMean(%q, %axes)\n%a = Add(%v, %e)\n%r = Sqrt(%a)\n"
       "%i = Reciprocal(%r)\n%n = Mul(%x, %i)\n%y = Mul(%g, %n)\noutput %y\n",
       "RMSNormalization"},
      {"%q = Mul(%x, %x)\n%v = ReduceMean(%q, %axes)\n%a = Add(%e, %v)\n%r = Sqrt(%a)\n"
       "%n = Div(%x, %r)\n%y = Mul(%n, %g)\noutput %y\n",
       "RMSNormalization"},
      {"%q = Mul(%x, %x)\n%v = ReduceMean(%q, %axes)\n%a = Add(%v, %e)\n%r = Pow(%a, %half)\n"
       "%y = Mul(%r, %x)\noutput %y\n",
       "RMSNormalization"},
      // It has no bias.
      {"%q = Mul(%x, %x)\n%v = ReduceMean(%q, %axes)\n%a = Add(%v, %e)\n%r = Pow(%a, %half)\n"
       "%n = Mul(%r, %x)\n%s = Mul(%n, %g)\n%y = Add(%s, %g)\noutput %y\n",
       "RMSNormalization Add"},
      // What is centred over other axes is only an operand.
      {"const %one: i64[1] = 1\n%m = ReduceMean(%x, %one)\n%d = Sub(%x, %m)\n%q = Mul(%d, %d)\n"
       "%v = ReduceMean(%q, %axes)\n%a = Add(%v, %e)\n%r = Sqrt(%a)\n%y = Div(%d, %r)\noutput %y\n",
       "ReduceMean Sub RMSNormalization"},
  };
  for (const auto& [body, ops] : spellings) {
    EXPECT_EQ(Ops(Rewrite(FindLayerNorm, std::string(kSquareHead) + body)), ops) << body;
  }
}

/// Weights tell the last extent; operators between keep it, or a Transpose moves it away.
TEST(RmsNorm, WhereShapesAreNotKnown) {
  const auto turned = [](std::string_view perm) {
    const std::string text = fmt::format(
        "input %z: f32[?x8x8]\nconst %w: f32[8x8]\nconst %two: f32[] = 2\nconst %e: f32[] = 1\n"
        "const %axes: i64[1] = -1\nconst %g: f32[8]\n%m = MatMul(%z, %w)\n%h = Tanh(%m)\n"
        "%x = Transpose(%h) {{perm=[{}]}}\n%q = Pow(%x, %two)\n%v = ReduceMean(%q, %axes)\n"
        "%a = Add(%v, %e)\n%r = Sqrt(%a)\n%n = Div(%x, %r)\n%y = Mul(%n, %g)\noutput %y\n",
        perm);
    return Ops(Rewrite(FindLayerNorm, text, false));
  };
  EXPECT_EQ(turned("1,0,2"), "MatMul Tanh Transpose RMSNormalization");
  EXPECT_EQ(turned("0,2,1"), "MatMul Tanh Transpose Pow ReduceMean Add Sqrt Div Mul");
}

TEST(RmsNorm, NearMissesStay) {
  const std::pair<const char*, const char*> misses[] = {
      // Squares of something else, a cube, a mean that is an output, a scale that is computed.
      {"%q = Mul(%x, %z)\n%v = ReduceMean(%q, %axes)\n%a = Add(%v, %e)\n%r = Sqrt(%a)\n"
       "%y = Div(%x, %r)\noutput %y\n",
       "Mul ReduceMean Add Sqrt Div"},
      {"%q = Mul(%z, %z)\n%v = ReduceMean(%q, %axes)\n%a = Add(%v, %e)\n%r = Sqrt(%a)\n"
       "%y = Div(%x, %r)\noutput %y\n",
       "Mul ReduceMean Add Sqrt Div"},
      {"%q = Mul(%x, %x)\n%v = ReduceMean(%q, %axes)\n%a = Add(%v, %e)\n%r = Sqrt(%a)\n"
       "%y = Div(%x, %r)\noutput %y\noutput %v\n",
       "Mul ReduceMean Add Sqrt Div"},
      {"%q = Mul(%x, %x)\n%v = ReduceMean(%q, %axes)\n%a = Add(%v, %e)\n%r = Sqrt(%a)\n"
       "%y = Div(%r, %x)\noutput %y\n",
       "Mul ReduceMean Add Sqrt Div"},
      {"%q = Mul(%x, %x)\n%v = ReduceMean(%q, %axes)\n%a = Add(%v, %e)\n%r = Sqrt(%a)\n"
       "%y = Mul(%x, %r)\noutput %y\n",
       "Mul ReduceMean Add Sqrt Mul"},
      {"%q = Mul(%x, %x)\n%v = ReduceMean(%q, %axes) {keepdims=0}\n%a = Add(%v, %e)\n"
       "%r = Sqrt(%a)\n%k = Unsqueeze(%r, %axes)\n%y = Div(%x, %k)\noutput %y\n",
       "Mul ReduceMean Add Sqrt Unsqueeze Div"},
      {"%q = Mul(%x, %x)\n%v = ReduceMean(%q, %axes)\n%a = Add(%v, %e)\n%r = Sqrt(%a)\n"
       "%n = Div(%x, %r)\n%y = Mul(%n, %z)\noutput %y\n",
       "RMSNormalization Mul"},
  };
  for (const auto& [body, ops] : misses) {
    const std::string head = std::string(kSquareHead) + "input %z: f32[2x3x8] = noise(0.5, 2)\n";
    EXPECT_EQ(Ops(Rewrite(FindLayerNorm, head + body)), ops) << body;
  }
}

/// 2 x 6 channels in three groups: the operand, and the operators behind it.
std::string InGroups(std::string_view body, std::string_view input = "input %x: f32[2x6x3x5]\n") {
  return std::string(input) +
         "const %one: f32[3] = 1 1 1\nconst %zero: f32[3] = 0 0 0\nconst %split: i64[3] = 0 3 -1\n"
         "const %back: i64[4] = 2 6 3 5\nconst %w: f32[6x1x1]\nconst %b: f32[1x6x1x1]\n" +
         std::string(body);
}

constexpr std::string_view kGrouped =
    "%r = Reshape(%x, %split)\n%n = InstanceNormalization(%r, %one, %zero) {epsilon=0.01}\n"
    "%k = Reshape(%n, %back)\n";

TEST(GroupNorm, AsExportersSpellIt) {
  const auto text = [](std::string_view tail) {
    return InGroups(std::string(kGrouped) + std::string(tail));
  };
  EXPECT_EQ(Ops(Rewrite(FindGroupNorm, text("%m = Mul(%k, %w)\n%y = Add(%m, %b)\noutput %y\n"))),
            "GroupNormalization");
  EXPECT_EQ(Ops(Rewrite(FindGroupNorm,
                        text("%m = Mul(%w, %k)\n%a = Add(%b, %m)\n%y = Relu(%a)\noutput %y\n"))),
            "GroupNormalization Relu");
  const ir::Graph alone = Rewrite(FindGroupNorm, text("%y = Sigmoid(%k)\noutput %y\n"));
  ASSERT_EQ(Ops(alone), "GroupNormalization Sigmoid");
  EXPECT_EQ(alone.node(0).attributes.Int("num_groups", 0), 3);
  EXPECT_NEAR(alone.node(0).attributes.Float("epsilon"), 0.01, 1e-9);
  EXPECT_EQ(Ops(Rewrite(FindGroupNorm, text("%y = Mul(%k, %w)\noutput %y\noutput %k\n"))),
            "GroupNormalization Mul");
}

TEST(GroupNorm, NearMissesStay) {
  const std::string tail = "%y = Mul(%k, %w)\noutput %y\n";
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string text = InGroups(std::string(kGrouped) + tail);
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  const std::string whole = "Reshape InstanceNormalization Reshape Mul";
  // Scales of each group, groups over channels of two pictures, another shape behind it.
  EXPECT_EQ(Ops(Rewrite(FindGroupNorm, with("%one: f32[3] = 1 1 1", "%one: f32[3]"))), whole);
  EXPECT_EQ(Ops(Rewrite(FindGroupNorm, with("= 0 3 -1", "= 4 3 -1"))), whole);
  EXPECT_EQ(Ops(Rewrite(FindGroupNorm, with("= 2 6 3 5", "= 2 6 5 3"))), whole);
  EXPECT_EQ(Ops(Rewrite(FindGroupNorm, InGroups(std::string(kGrouped) + tail + "output %n\n"))),
            whole);
  EXPECT_EQ(Ops(Rewrite(FindGroupNorm, InGroups(std::string(kGrouped) + tail + "output %r\n"))),
            whole);
  // Nine groups of two channels' halves.
  std::string halves = with("= 0 3 -1", "= 0 9 -1");
  const std::pair<std::string, std::string> wider[] = {
      {"f32[3] = 1 1 1", "f32[9] = 1 1 1 1 1 1 1 1 1"},
      {"f32[3] = 0 0 0", "f32[9] = 0 0 0 0 0 0 0 0 0"}};
  for (const auto& [from, to] : wider) halves.replace(halves.find(from), from.size(), to);
  EXPECT_EQ(Ops(Rewrite(FindGroupNorm, halves)), whole);
  EXPECT_EQ(Ops(Rewrite(FindGroupNorm, InGroups(std::string(kGrouped) + tail), false)), whole);
}

/// Channels that weights tell; nothing is known of the shapes that follow.
constexpr std::string_view kOpenGroups =
    "input %x: f32[?x4x3x3]\nconst %v: f32[6x4x1x1]\nconst %one: f32[3] = 1 1 1\n"
    "const %zero: f32[3] = 0 0 0\nconst %split: i64[3] = 0 3 -1\nconst %w: f32[6x1x1]\n"
    "const %b: f32[6x1x1]\n%c = Conv(%x, %v)\n%g = Sigmoid(%c)\n%p = Mul(%c, %g)\n"
    "%r = Reshape(%p, %split)\n%n = InstanceNormalization(%r, %one, %zero)\n%s = Shape(%p)\n"
    "%k = Reshape(%n, %s)\n%m = Mul(%k, %w)\n%y = Add(%m, %b)\noutput %y\n";

TEST(GroupNorm, WhereShapesAreNotKnown) {
  const auto with = [](std::string_view from, std::string_view to) {
    std::string text(kOpenGroups);
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  const std::string whole = "Conv Sigmoid Mul Reshape InstanceNormalization Shape Reshape Mul Add";
  EXPECT_EQ(Ops(Rewrite(FindGroupNorm, std::string(kOpenGroups), false)),
            "Conv Sigmoid Mul GroupNormalization");
  // Groups of the whole batch, of halves of channels, the shape of something else, a part of it,
  // channels that nothing tells.
  EXPECT_EQ(Ops(Rewrite(FindGroupNorm, with("= 0 3 -1", "= 1 3 -1"), false)), whole);
  std::string halves = with("= 0 3 -1", "= 0 9 -1");
  for (const char digit : {'1', '0'}) {
    const std::string three = fmt::format("f32[3] = {0} {0} {0}", digit);
    halves.replace(halves.find(three), three.size(),
                   fmt::format("f32[9] = {0} {0} {0} {0} {0} {0} {0} {0} {0}", digit));
  }
  EXPECT_EQ(Ops(Rewrite(FindGroupNorm, halves, false)), whole);
  EXPECT_EQ(Ops(Rewrite(FindGroupNorm, with("Shape(%p)", "Shape(%g)"), false)), whole);
  EXPECT_EQ(Ops(Rewrite(FindGroupNorm, with("Shape(%p)", "Shape(%p) {start=0, end=4}"), false)),
            whole);
  EXPECT_EQ(
      Ops(Rewrite(FindGroupNorm,
                  with("%r = Reshape(%p", "%z = Cast(%p) {to=\"f32\"}\n%r = Reshape(%z"), false)),
      "Conv Sigmoid Mul Cast Reshape InstanceNormalization Shape Reshape Mul Add");
}

TEST(ConstantLeft, BecomesTheRightOperand) {
  const std::string w = "const %w: f32[4x3]\n", tail = "%y = MatMul(%w, %x)\noutput %y\n";
  for (const char* shape : {"3x5", "2x3x5", "1x2x3x1"}) {
    const std::string text = fmt::format("input %x: f32[{}]\n", shape) + w + tail;
    EXPECT_EQ(Ops(Rewrite(SwapConstantLeft, text)), "Transpose Transpose MatMul Transpose")
        << shape;
  }
  // Several matrices, as many as the other operand has, or fewer, or more.
  for (const char* shape : {"2x3x5", "3x5", "4x1x3x5", "1x3x1"}) {
    const std::string text = fmt::format("input %x: f32[{}]\nconst %w: f32[2x4x3]\n", shape) + tail;
    EXPECT_EQ(Ops(Rewrite(SwapConstantLeft, text)), "Transpose Transpose MatMul Transpose")
        << shape;
  }
}

TEST(ConstantLeft, NearMissesStay) {
  const std::string w = "const %w: f32[4x3]\n", product = "%y = MatMul(%w, %x)\noutput %y\n";
  // Vectors on either side, unknown shapes, a constant on the right, two constants.
  EXPECT_EQ(Ops(Rewrite(SwapConstantLeft, "input %x: f32[3]\n" + w + product)), "MatMul");
  EXPECT_EQ(Ops(Rewrite(SwapConstantLeft, "input %x: f32[3x5]\nconst %w: f32[3]\n" + product)),
            "MatMul");
  EXPECT_EQ(Ops(Rewrite(SwapConstantLeft,
                        "input %x: f32[5x4]\n" + w + "%y = MatMul(%x, %w)\noutput %y\n")),
            "MatMul");
  EXPECT_EQ(Ops(Rewrite(SwapConstantLeft, "const %x: f32[3x5]\n" + w + product, false)), "MatMul");
}

/// What an LpPool becomes; its results are the same afterwards.
std::string Pooled(std::string_view attributes, std::string_view type = "f32[2x3x9x8]",
                   std::string_view op = "LpPool") {
  return Ops(
      Rewrite(SpellNormPools,
              fmt::format("input %x: {}\n%y = {}(%x) {{{}}}\noutput %y\n", type, op, attributes),
              true, 1e-5));
}

TEST(NormPools, AreAveragesOfPowers) {
  EXPECT_EQ(Pooled("kernel_shape=[3,2]"), "Mul AveragePool Mul Sqrt");
  EXPECT_EQ(Pooled("kernel_shape=[3,2], p=1, strides=[2,3]"), "Abs AveragePool Mul");
  EXPECT_EQ(Pooled("kernel_shape=[3,2], p=3, dilations=[2,1]"), "Abs Pow AveragePool Mul Pow");
  for (const char* more : {"pads=[2,1,0,1]", "auto_pad=\"SAME_UPPER\", strides=[2,2]",
                           "auto_pad=\"SAME_LOWER\", dilations=[2,3]", "auto_pad=\"VALID\""})
    EXPECT_EQ(Pooled(fmt::format("kernel_shape=[3,2], {}", more)), "Mul AveragePool Mul Sqrt");
  EXPECT_EQ(Pooled("kernel_shape=[4], pads=[3,3], strides=[3]", "f32[1x5x29]"),
            "Mul AveragePool Mul Sqrt");
}

TEST(NormPools, OfOneTapAreMagnitudes) {
  EXPECT_EQ(Pooled("kernel_shape=[1,1]"), "Abs");
  EXPECT_EQ(Pooled("kernel_shape=[1,1], pads=[1,0,0,0]"), "Mul AveragePool Mul Sqrt");
  EXPECT_EQ(Pooled("kernel_shape=[1,1], strides=[2,1]"), "Mul AveragePool Mul Sqrt");
}

TEST(NormPools, OfWholePlanesAreReductions) {
  EXPECT_EQ(Pooled("p=1", "f32[2x3x9x8]", "GlobalLpPool"), "ReduceL1");
  EXPECT_EQ(Pooled("p=2", "f32[2x3x9]", "GlobalLpPool"), "ReduceL2");
  EXPECT_EQ(Pooled("p=3", "f32[2x3x9x8]", "GlobalLpPool"), "GlobalLpPool");
}

TEST(NormPools, StayWhereWindowsPassThePaddingOrTypesAreShort) {
  EXPECT_EQ(Pooled("kernel_shape=[3,3], strides=[2,2], ceil_mode=1"), "LpPool");
  EXPECT_EQ(Pooled("kernel_shape=[3,3]", "f16[2x3x9x8]"), "LpPool");
}

}  // namespace
}  // namespace fettle::passes
