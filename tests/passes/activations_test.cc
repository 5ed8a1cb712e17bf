// Activations spelled out in primitive operators.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "equivalence.h"
#include "passes/find/gelu.h"
#include "passes/find/hard_activations.h"
#include "passes/find/prelu.h"
#include "passes/find/swish.h"

namespace fettle::passes {
namespace {

Result<bool> FindHard(ir::Graph& graph) {
  RETURN_IF_ERROR(FindHardSigmoid(graph).status());
  return FindHardSwish(graph);
}

constexpr std::string_view kSixes =
    "input %x: f32[2x3x4]\nconst %three: f32[] = 3\nconst %zero: f32[] = 0\nconst %six: f32[] = 6\n"
    "const %sixth: f32[] = 0.16666667\nconst %c: f32[] = 9\n%x9 = Mul(%x, %c)\n";

std::string WithSixes(std::string_view body) { return std::string(kSixes) + std::string(body); }

TEST(HardSwish, AllSpellings) {
  for (const char* body : {
           "%a = Add(%x9, %three)\n%b = Clip(%a, %zero, %six)\n%d = Div(%b, %six)\n"
           "%y = Mul(%x9, %d)\noutput %y\n",
           "%a = Add(%three, %x9)\n%b = Clip(%a, %zero, %six)\n%d = Mul(%b, %x9)\n"
           "%y = Div(%d, %six)\noutput %y\n",
           "%a = Add(%x9, %three)\n%b = Clip(%a, %zero, %six)\n%d = Mul(%x9, %sixth)\n"
           "%y = Mul(%d, %b)\noutput %y\n",
           "%a = Add(%x9, %three)\n%b = Clip(%a, %zero, %six)\n%d = Mul(%x9, %b)\n"
           "%y = Mul(%sixth, %d)\noutput %y\n",
           "%a = Add(%x9, %three)\n%m = Max(%a, %zero)\n%b = Min(%m, %six)\n%d = Div(%b, %six)\n"
           "%y = Mul(%d, %x9)\noutput %y\n",
           "%h = HardSigmoid(%x9) {alpha=0.16666667, beta=0.5}\n%y = Mul(%x9, %h)\noutput %y\n",
       }) {
    EXPECT_EQ(Ops(Rewrite(FindHard, WithSixes(body))), "Mul HardSwish") << body;
  }
}

TEST(HardSwish, OtherNumbersAndReadersStay) {
  const auto four = WithSixes(
      "const %k: f32[] = 4\n%a = Add(%x9, %k)\n%b = Clip(%a, %zero, %six)\n%d = Mul(%x9, %b)\n"
      "%y = Div(%d, %six)\noutput %y\n");
  EXPECT_EQ(Ops(Rewrite(FindHard, four)), "Mul Add Clip Mul Div");
  const auto read = WithSixes(
      "%a = Add(%x9, %three)\n%b = Clip(%a, %zero, %six)\n%d = Mul(%x9, %b)\n"
      "%y = Div(%d, %six)\noutput %y\noutput %b\n");
  EXPECT_EQ(Ops(Rewrite(FindHard, read)), "Mul Add Clip Mul Div");
}

TEST(HardSigmoid, ClipsThatAreScaled) {
  const auto text = WithSixes(
      "%a = Add(%x9, %three)\n%b = Clip(%a, %zero, %six)\n%y = Mul(%b, %sixth)\noutput %y\n");
  const ir::Graph graph = Rewrite(FindHardSigmoid, text);
  ASSERT_EQ(Ops(graph), "HardSigmoid");
  EXPECT_NEAR(graph.node(0).attributes.Float("alpha"), 9.0 / 6, 1e-6);
  EXPECT_EQ(graph.node(0).attributes.Float("beta"), 0.5);
}

TEST(HardSigmoid, OfScalarsInRankOneNeedsShapes) {
  const char* text =
      "input %t: f32[3x2]\nconst %three: f32[1] = 3\nconst %zero: f32[] = 0\n"
      "const %six: f32[] = 6\nconst %div: f32[1] = 6\n%x = Transpose(%t)\n%a = Add(%x, %three)\n"
      "%b = Clip(%a, %zero, %six)\n%y = Div(%b, %div)\noutput %y\n";
  EXPECT_EQ(Ops(Rewrite(FindHardSigmoid, text, true)), "Transpose HardSigmoid");
  EXPECT_EQ(Ops(Rewrite(FindHardSigmoid, text, false)), "Transpose Add Clip Div");
}

TEST(HardSwish, OfScalarsThatHaveNoMoreAxesThanAConvolution) {
  const auto text = [](std::string_view three, std::string_view x) {
    return fmt::format(
        "input %x: f32[2x4x5x6]\nconst %w: f32[4x4x1x1] = noise(-1, 1)\n"
        "const %three: f32{} = 3\nconst %zero: f32[] = 0\nconst %six: f32[] = 6\n"
        "const %div: f32[1] = 6\nconst %s: f32[4] = noise(1, 2)\n%c = Conv(%x, %w, _)\n"
        "%n = BatchNormalization(%c, %s, %s, %s, %s)\n%v = Relu(%n)\n%a = Add({}, %three)\n"
        "%b = Clip(%a, %zero, %six)\n%m = Mul({}, %b)\n%y = Div(%m, %div)\noutput %y\n",
        three, x, x);
  };
  const auto left = [&](std::string_view three, std::string_view x) {
    return Ops(Rewrite(FindHard, text(three, x), /*infer=*/false));
  };
  EXPECT_EQ(left("[1]", "%v"), "Conv BatchNormalization Relu HardSwish");
  EXPECT_EQ(left("[1x1x1]", "%v"), "Conv BatchNormalization Relu HardSwish");
  EXPECT_EQ(left("[1x1x1x1]", "%v"), "Conv BatchNormalization Relu Add Clip Mul Div")
      << "it may have three axes";
}

TEST(Swish, BothOrdersAndSlopes) {
  EXPECT_EQ(
      Ops(Rewrite(FindSwish, "input %x: f32[9]\n%s = Sigmoid(%x)\n%y = Mul(%s, %x)\noutput %y\n")),
      "Swish");
  const ir::Graph graph = Rewrite(FindSwish,
                                  "input %x: f32[9]\nconst %a: f32[] = 1.702\n%m = Mul(%x, %a)\n"
                                  "%s = Sigmoid(%m)\n%y = Mul(%x, %s)\noutput %y\n");
  ASSERT_EQ(Ops(graph), "Swish");
  EXPECT_NEAR(graph.node(0).attributes.Float("alpha"), 1.702, 1e-6);
}

TEST(Swish, GatesOfOtherValuesStay) {
  EXPECT_EQ(Ops(Rewrite(FindSwish,
                        "input %x: f32[9]\ninput %z: f32[9]\n%s = Sigmoid(%z)\n%y = Mul(%x, %s)\n"
                        "output %y\n")),
            "Sigmoid Mul");
}

constexpr std::string_view kGelu =
    "input %x: f32[2x5]\nconst %half: f32[] = 0.5\nconst %one: f32[] = 1\n"
    "const %root: f32[] = 1.4142135\nconst %inv: f32[] = 0.70710677\nconst %k: f32[] = 0.044715\n"
    "const %f: f32[] = 0.7978845608\nconst %p: f32[] = 3\n";

TEST(Gelu, AllSpellings) {
  const std::pair<const char*, const char*> spellings[] = {
      {"none",
       "%d = Div(%x, %root)\n%e = Erf(%d)\n%a = Add(%e, %one)\n%m = Mul(%x, %a)\n"
       "%y = Mul(%m, %half)\noutput %y\n"},
      {"none",
       "%d = Mul(%x, %inv)\n%e = Erf(%d)\n%a = Add(%one, %e)\n%h = Mul(%half, %x)\n"
       "%y = Mul(%h, %a)\noutput %y\n"},
      {"tanh",
       "%c = Pow(%x, %p)\n%q = Mul(%k, %c)\n%s = Add(%x, %q)\n%t = Mul(%s, %f)\n%e = Tanh(%t)\n"
       "%a = Add(%e, %one)\n%h = Mul(%x, %half)\n%y = Mul(%h, %a)\noutput %y\n"},
      {"tanh",
       "%c = Mul(%x, %x)\n%q = Mul(%k, %c)\n%s = Add(%q, %one)\n%g = Mul(%x, %f)\n"
       "%t = Mul(%g, %s)\n%e = Tanh(%t)\n%a = Add(%one, %e)\n%h = Mul(%x, %half)\n"
       "%y = Mul(%h, %a)\noutput %y\n"},
  };
  for (const auto& [approximate, body] : spellings) {
    const ir::Graph graph = Rewrite(FindGelu, std::string(kGelu) + body);
    ASSERT_EQ(Ops(graph), "Gelu") << body;
    EXPECT_EQ(graph.node(0).attributes.Text("approximate"), approximate);
  }
}

TEST(Gelu, OtherNumbersStay) {
  EXPECT_EQ(Ops(Rewrite(FindGelu, fmt::format("{}%d = Div(%x, %f)\n%e = Erf(%d)\n"
                                              "%a = Add(%e, %one)\n%m = Mul(%x, %a)\n"
                                              "%y = Mul(%m, %half)\noutput %y\n",
                                              kGelu))),
            "Div Erf Add Mul Mul");
}

TEST(PRelu, AllSpellings) {
  const std::string head =
      "input %x: f32[2x3x4x4]\nconst %s: f32[3x1x1] = 0.1 -0.2 0.3\nconst %half: f32[] = 0.5\n"
      "const %zero: f32[] = 0\n%r = Relu(%x)\n";
  for (const char* body : {
           "%a = Abs(%x)\n%d = Sub(%x, %a)\n%m = Mul(%s, %d)\n%h = Mul(%m, %half)\n"
           "%y = Add(%r, %h)\noutput %y\n",
           "%n = Neg(%x)\n%q = Relu(%n)\n%m = Mul(%q, %s)\n%y = Sub(%r, %m)\noutput %y\n",
           "%n = Neg(%x)\n%q = Relu(%n)\n%o = Neg(%q)\n%m = Mul(%o, %s)\n%y = Add(%m, %r)\n"
           "output %y\n",
           "%l = Min(%x, %zero)\n%m = Mul(%l, %s)\n%y = Add(%m, %r)\noutput %y\n",
       }) {
    EXPECT_EQ(Ops(Rewrite(FindPRelu, head + body)), "PRelu") << body;
  }
}

/// Graphs of open extents, as they are when a model is loaded.
TEST(PRelu, OneSlopeAChannelOfAConvolution) {
  const std::string head = "input %x: f32[?x?x?x?]\nconst %w: f32[2x1x1x1] = 1 2\n";
  const std::string body =
      "%r = Relu(%c)\n%a = Abs(%c)\n%d = Sub(%c, %a)\n%m = Mul(%s, %d)\n%y = Add(%r, %m)\n"
      "output %y\n";
  const auto ops = [&](const std::string& conv, const std::string& slopes) {
    ir::Graph graph = ParseGraph(head + "const %s: " + slopes + "\n%c = " + conv + "\n" + body);
    EXPECT_TRUE(FindPRelu(graph).ok());
    return Ops(graph);
  };
  EXPECT_EQ(ops("Conv(%x, %w)", "f32[1x2x1x1] = 0.1 -0.2"), "Conv PRelu");
  EXPECT_EQ(ops("Conv(%x, %w)", "f32[2x1x1] = 0.1 -0.2"), "Conv PRelu");
  EXPECT_EQ(ops("ConvTranspose(%x, %w) {group=2}", "f32[2x1x1] = 0.1 -0.2"), "ConvTranspose PRelu");
  for (const char* slopes : {"f32[2x1x1x1] = 0.1 -0.2", "f32[1x3x1x1] = 0.1 0.2 0.3",
                             "f32[2] = 0.1 -0.2", "f32[1x1x2x1x1] = 0.1 -0.2"})
    EXPECT_EQ(ops("Conv(%x, %w)", slopes), "Conv Relu Abs Sub Mul Add") << slopes;
  EXPECT_EQ(ops("Softplus(%x)", "f32[1x2x1x1] = 0.1 -0.2"), "Softplus Relu Abs Sub Mul Add");
}

TEST(PRelu, OneSlopeIsLeakyRelu) {
  const ir::Graph graph = Rewrite(
      FindPRelu,
      "input %x: f32[7]\nconst %s: f32[] = 0.25\n%r = Relu(%x)\n%n = Neg(%x)\n%q = Relu(%n)\n"
      "%m = Mul(%q, %s)\n%y = Sub(%r, %m)\noutput %y\n");
  ASSERT_EQ(Ops(graph), "LeakyRelu");
  EXPECT_EQ(graph.node(0).attributes.Float("alpha"), 0.25);
}

TEST(Products, LongChainsAreBounded) {
  std::string text = "input %x0: f32[2]\nconst %c: f32[] = 1.0001\n";
  for (int i = 0; i < 20000; ++i) text += fmt::format("%x{} = Mul(%x{}, %c)\n", i + 1, i);
  ir::Graph graph = ParseGraph(text + "%s = Sigmoid(%x20000)\n%y = Clip(%s)\noutput %y\n");
  EXPECT_TRUE(Optimise(graph, {.verify = true}).ok());
  EXPECT_EQ(graph.nodes().size(), 20001u);
}

}  // namespace
}  // namespace fettle::passes
