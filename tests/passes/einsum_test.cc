// Einsum as transposes, sums and products of matrices; products and Expand as broadcasts.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "equivalence.h"
#include "passes/edit/editor.h"
#include "passes/find/summed_product.h"
#include "passes/rewrite/late_expands.h"
#include "passes/rewrite/outer_products.h"
#include "passes/rewrite/spell_einsum.h"

namespace fettle::passes {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Operands(const std::vector<std::string>& shapes, std::string_view equation,
                     std::string_view dtype = "f32") {
  std::string text, names;
  for (size_t i = 0; i < shapes.size(); ++i) {
    text += fmt::format("input %x{}: {}[{}]\n", i, dtype, shapes[i]);
    names += fmt::format("{}%x{}", i == 0 ? "" : ", ", i);
  }
  return fmt::format("{}%y = Einsum({}) {{equation=\"{}\"}}\noutput %y\n", text, names, equation);
}

struct Spelled {
  const char* equation;
  std::vector<std::string> shapes;
  const char* ops;
};

/// What exporters write, each as the nodes that an engineer would write by hand.
TEST(SpellEinsum, TakesTheFewestNodes) {
  const Spelled cases[] = {
      {"bij,bjk->bik", {"3x5x7", "3x7x4"}, "MatMul Identity"},
      {"bhid,bhjd->bhij",
       {"2x3x5x7", "2x3x4x7"},
       "Reshape Transpose Reshape MatMul Reshape Identity"},
      {"...ij,jk->...ik", {"2x3x5x7", "7x4"}, "Reshape MatMul Reshape Identity"},
      {"abc,dbc->ad", {"12x3x5", "4x3x5"}, "Reshape Transpose Reshape MatMul Identity"},
      {"ij->ji", {"5x7"}, "Transpose Identity"},
      {"ij->i", {"5x7"}, "ReduceSum Identity"},
      {"i,j->ij", {"5", "7"}, "Reshape Reshape Mul Identity"},
      {"bi,bi->b", {"9x7", "9x7"}, "Mul ReduceSum Identity"},
      {"i,i->", {"70", "70"}, "Reshape Reshape MatMul Reshape Identity"},
      {"ii->i", {"5x5"}, "Transpose Reshape Slice Identity"},
      {"bi,i->bi", {"5x7", "1"}, "Reshape Reshape Mul Identity"},
  };
  for (const Spelled& c : cases) {
    SCOPED_TRACE(c.equation);
    EXPECT_EQ(Ops(Rewrite(SpellEinsum, Operands(c.shapes, c.equation))), c.ops);
  }
}

/// A table of positions, on whichever side of the equation: kernels pack what is on the right.
TEST(SpellEinsum, PutsConstantsOnTheRight) {
  for (const char* equation : {"bhwc,hkc->bhwk", "hkc,bhwc->bhwk", "hkc,bhwc->khwb"}) {
    SCOPED_TRACE(equation);
    std::string text = "input %x: f32[3x4x5x6]\nconst %w: f32[4x7x6]\n";
    const bool is_left = equation[0] == 'h';
    text += fmt::format("%y = Einsum({}) {{equation=\"{}\"}}\noutput %y\n",
                        is_left ? "%w, %x" : "%x, %w", equation);
    const ir::Graph graph = Rewrite(SpellEinsum, text);
    ir::Graph folded = graph;
    ASSERT_TRUE(SweepAll(folded, {}).ok());
    const auto is_product = [](const ir::Node& node) { return node.op == "MatMul"_op; };
    const auto product = std::find_if(folded.nodes().begin(), folded.nodes().end(), is_product);
    ASSERT_NE(product, folded.nodes().end()) << ir::Print(folded);
    EXPECT_TRUE(folded.value(product->inputs[1]).is_constant()) << ir::Print(folded);
    EXPECT_FALSE(folded.value(product->inputs[0]).is_constant()) << ir::Print(folded);
  }
}

TEST(SpellEinsum, LeavesWhatIsEmpty) {
  EXPECT_EQ(Ops(Rewrite(SpellEinsum, Operands({"3x0", "0x4"}, "ij,jk->ik"))), "Einsum");
}

TEST(SpellEinsum, KeepsIntegers) {
  EXPECT_THAT(Ops(Rewrite(SpellEinsum, Operands({"3x5", "5x4"}, "ij,jk->ki", "i64"))),
              HasSubstr("MatMul"));
}

/// A random equation of one to four operands: labels of extents 1 to 4, repeated within a term,
/// broadcast, summed.
std::string RandomEinsum(std::mt19937& random) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const std::string letters = "abcdef";
  int extents[6];
  for (int& extent : extents) extent = 1 + below(4);
  std::vector<std::string> shapes;
  std::string equation, used;
  const int operands = 1 + below(4);
  for (int i = 0; i < operands; ++i) {
    std::string& shape = shapes.emplace_back();
    const int rank = 1 + below(4);
    for (int axis = 0; axis < rank; ++axis) {
      const int label = below(6);
      const char letter = letters[static_cast<size_t>(label)];
      if (used.find(letter) == std::string::npos) used += letter;
      equation += letter;
      shape += fmt::format("{}{}", axis == 0 ? "" : "x", below(8) == 0 ? 1 : extents[label]);
    }
    equation += i + 1 < operands ? "," : "->";
  }
  std::shuffle(used.begin(), used.end(), random);
  equation += used.substr(0, static_cast<size_t>(below(static_cast<int>(used.size()) + 1)));
  return Operands(shapes, equation);
}

TEST(SpellEinsum, KeepsWhatRandomEquationsCompute) {
  std::mt19937 random(36);
  for (int i = 0; i < 400; ++i) {
    const std::string text = RandomEinsum(random);
    SCOPED_TRACE(text);
    EXPECT_THAT(Ops(Rewrite(SpellEinsum, text, true, 1e-4)), Not(HasSubstr("Einsum")));
  }
}

TEST(SummedProducts, AreContractions) {
  const auto ops = [](std::string_view a, std::string_view b, std::string_view axes, int keepdims) {
    return Ops(Rewrite(FindSummedProducts,
                       fmt::format("input %a: {}\ninput %b: {}\nconst %i: {}\n%p = Mul(%a, %b)\n"
                                   "%y = ReduceSum(%p, %i) {{keepdims={}}}\noutput %y\n",
                                   a, b, axes, keepdims)));
  };
  const char* found = "Reshape Reshape Einsum Reshape";
  EXPECT_EQ(ops("f32[2x20x1x3x9]", "f32[2x1x21x3x9]", "i64[1] = -1", 0), found);
  EXPECT_EQ(ops("f32[2x20x1x3x9]", "f32[2x1x21x3x9]", "i64[1] = 4", 1), found);
  EXPECT_EQ(ops("f32[20x1x3x9]", "f32[2x1x21x3x9]", "i64[2] = 3 -1", 0), found);
  EXPECT_EQ(ops("f32[2x20x9x1]", "f32[2x1x9x21]", "i64[1] = 2", 1), found);
  // The summed axis of one operand alone, and nothing left of it.
  EXPECT_EQ(ops("f32[20x40x1]", "f32[20x1x41]", "i64[1] = 1", 0), found);
  EXPECT_EQ(ops("f32[20x40x1]", "f32[20x1x41]", "i64[3] = 0 1 2", 0), found);
  // What does not grow stays.
  EXPECT_EQ(ops("f32[2x20x21x9]", "f32[2x20x21x9]", "i64[1] = -1", 0), "Mul ReduceSum");
  EXPECT_EQ(ops("f32[2x20x1x9]", "f32[2x20x21x9]", "i64[1] = -1", 0), "Mul ReduceSum");
  EXPECT_EQ(ops("f32[2x3x1x9]", "f32[2x1x3x9]", "i64[1] = -1", 0), "Mul ReduceSum");
  EXPECT_EQ(ops("i64[2x20x1x9]", "i64[2x1x21x9]", "i64[1] = -1", 0), "Mul ReduceSum");
  EXPECT_EQ(ops("f64[2x20x1x9]", "f64[2x1x21x9]", "i64[1] = -1", 0), "Mul ReduceSum");
}

TEST(SummedProducts, OfAnyShapesStayTheSame) {
  std::mt19937 random(7);
  int found = 0;
  for (int i = 0; i < 300; ++i) {
    const int rank = 2 + static_cast<int>(random() % 3);
    std::string a, b, axes;
    int count = 0;
    for (int axis = 0; axis < rank; ++axis) {
      constexpr int kExtents[] = {1, 2, 7, 19, 24};
      const int extent = kExtents[random() % 5];
      const std::string times = axis == 0 ? "" : "x";
      a += times + std::to_string(random() % 3 == 0 ? 1 : extent);
      b += times + std::to_string(random() % 3 == 0 ? 1 : extent);
      if (random() % 2 == 0) continue;
      axes += fmt::format(" {}", random() % 2 == 0 ? axis : axis - rank);
      ++count;
    }
    if (count == 0) continue;
    const ir::Graph graph =
        Rewrite(FindSummedProducts,
                fmt::format("input %a: f32[{}]\ninput %b: f32[{}]\nconst %i: i64[{}] ={}\n"
                            "%p = Mul(%a, %b)\n%y = ReduceSum(%p, %i) {{keepdims={}}}\noutput %y\n",
                            a, b, count, axes, random() % 2),
                true, 1e-4);
    found += Ops(graph).find("Einsum") != std::string::npos ? 1 : 0;
  }
  EXPECT_GT(found, 3);
}

TEST(SummedProducts, WithAnotherReaderStay) {
  EXPECT_EQ(Ops(Rewrite(FindSummedProducts,
                        "input %a: f32[20x1x9]\ninput %b: f32[1x21x9]\nconst %i: i64[1] = -1\n"
                        "%p = Mul(%a, %b)\n%y = ReduceSum(%p, %i)\noutput %y\noutput %p\n")),
            "Mul ReduceSum");
}

std::string OuterProductOf(std::string_view a, std::string_view b, bool infer = true) {
  return Ops(Rewrite(
      OuterProductsToMul,
      fmt::format("input %a: {}\ninput %b: {}\n%y = MatMul(%a, %b)\noutput %y\n", a, b), infer));
}

TEST(OuterProducts, BecomeBroadcasts) {
  for (const auto& [a, b] : {std::pair("f32[3x1]", "f32[1x4]"),
                             {"f32[2x3x1]", "f32[2x1x4]"},
                             {"f32[2x1x3x1]", "f32[5x1x4]"},
                             {"f32[1x1]", "f32[2x1x1]"},
                             {"f32[0x1]", "f32[1x4]"},
                             {"i64[3x1]", "i64[1x4]"}})
    EXPECT_EQ(OuterProductOf(a, b), "Mul") << a << " " << b;
}

TEST(OuterProducts, NearMissesStay) {
  // Sums of two and of none, vectors, unknown shapes.
  for (const auto& [a, b] : {std::pair("f32[3x2]", "f32[2x4]"),
                             {"f32[3x0]", "f32[0x4]"},
                             {"f32[1]", "f32[1x4]"},
                             {"f32[3x1]", "f32[1]"}})
    EXPECT_EQ(OuterProductOf(a, b), "MatMul") << a << " " << b;
  EXPECT_EQ(OuterProductOf("f32[3x1]", "f32[1x4]", false), "Mul") << "inputs declare their shapes";
}

TEST(OuterProducts, WhatKernelsLookForStays) {
  // One key of attention, also behind a mask.
  constexpr std::string_view kAttention =
      "input %q: f32[2x3x1]\ninput %v: f32[2x1x4]\n{}%y = MatMul(%p, %v)\noutput %y\n";
  EXPECT_EQ(Ops(Rewrite(OuterProductsToMul, fmt::format(kAttention, "%p = Softmax(%q)\n"))),
            "Softmax MatMul");
  EXPECT_EQ(Ops(Rewrite(OuterProductsToMul,
                        fmt::format(kAttention, "%s = Softmax(%q)\n%p = Mul(%s, %s)\n"))),
            "Softmax Mul MatMul");
  EXPECT_EQ(Ops(Rewrite(OuterProductsToMul,
                        "input %q: i8[3x1]\ninput %v: f32[1x4]\nconst %s: f32[] = 0.5\n"
                        "%p = DequantizeLinear(%q, %s)\n%y = MatMul(%p, %v)\noutput %y\n")),
            "DequantizeLinear MatMul");
}

/// What is left of a gate [1x3x1x1] that is expanded and read by `reader`.
std::string ExpandedOf(std::string_view extents, std::string_view reader, bool infer = true) {
  return Ops(Rewrite(DropExpandsBeforeBroadcasts,
                     fmt::format("input %x: f32[2x3x4x5]\ninput %g: f32[1x3x1x1]\n"
                                 "input %m: bool[2x3x4x5]\nconst %s: i64[4] = {}\n"
                                 "%e = Expand(%g, %s)\n{}\noutput %y\n",
                                 extents, reader),
                     infer));
}

TEST(LateExpands, ReadersBroadcastThemselves) {
  EXPECT_EQ(ExpandedOf("2 3 4 5", "%y = Mul(%x, %e)"), "Mul");
  EXPECT_EQ(ExpandedOf("1 3 4 1", "%y = Sub(%e, %x)"), "Sub");
  EXPECT_EQ(ExpandedOf("2 3 4 5", "%y = Where(%m, %e, %x)"), "Where");
  EXPECT_EQ(ExpandedOf("2 3 4 5", "%a = Max(%e, %x)\n%y = Div(%a, %e)"), "Max Div");
}

TEST(LateExpands, NearMissesStay) {
  // The result's extents come from the Expand; a reader of one operand, one that does not
  // broadcast; unknown shapes.
  EXPECT_EQ(ExpandedOf("2 3 4 5", "%y = Mul(%g, %e)"), "Expand Mul");
  EXPECT_EQ(ExpandedOf("2 3 4 5", "%y = Relu(%e)"), "Expand Relu");
  EXPECT_EQ(ExpandedOf("2 3 4 5", "%y = Concat(%e, %x) {axis=1}"), "Expand Concat");
  EXPECT_EQ(ExpandedOf("2 3 4 5", "%y = Mul(%x, %e)", false), "Expand Mul");
  // Both operands are the same Expand, and one of two readers needs it.
  EXPECT_EQ(ExpandedOf("2 3 4 5", "%y = Mul(%e, %e)"), "Expand Mul");
  EXPECT_EQ(ExpandedOf("2 3 4 5", "%a = Mul(%x, %e)\n%y = Add(%a, %e)\noutput %e"),
            "Expand Mul Add");
}

}  // namespace
}  // namespace fettle::passes
