// Quantisation: bytes moved instead of floats, functions of a byte as tables, constants.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "equivalence.h"
#include "passes/quantise/byte_moves.h"
#include "passes/quantise/byte_tables.h"
#include "passes/quantise/computed_filters.h"
#include "passes/quantise/constants_in_floats.h"
#include "passes/quantise/implied_clamps.h"
#include "passes/rewrite/blocked_scales.h"
#include "passes/rewrite/spell_typed.h"

namespace fettle::passes {
namespace {

/// Two pairs of parameters, and tensors of bytes and floats by the first.
constexpr std::string_view kHead =
    "input %q: u8[1x8x6x6] = noise(0, 255)\nconst %s: f32[] = 0.03\nconst %z: u8[] = 117\n"
    "const %t: f32[] = 0.05\nconst %v: u8[] = 9\n%x = DequantizeLinear(%q, %s, %z)\n";

/// The graph with `body`, which makes %r of %x, quantised as %x was; exactly the same afterwards.
std::string Moved(std::string_view body, std::string_view head = kHead) {
  return Ops(Rewrite(MoveBytes,
                     fmt::format("{}{}%y = QuantizeLinear(%r, %s, %z)\noutput %y\n", head, body),
                     true, 0));
}

std::string Blocked(std::string_view tensors, std::string_view op, std::string_view attributes) {
  return Ops(Rewrite(
      SplitBlockedScales,
      fmt::format("{}%y = {}(%x, %s, %z) {{{}}}\noutput %y\n", tensors, op, attributes), true, 0));
}

/// A ConvInteger with computed filters of so many channels and three lines, whose results are the
/// same afterwards.
std::string Filtered(int channels, int groups, int outputs, std::string_view zeros = "",
                     std::string_view operands = "", int columns = 3) {
  const std::string text = fmt::format(
      "input %x: u8[2x{0}x5x{3}] = noise(0, 255)\n"
      "input %w: i8[{1}x{2}x3x{3}] = noise(-128, 127)\n",
      channels * groups, outputs, channels, columns);
  return Ops(Rewrite(
      SpellComputedFilters,
      fmt::format("{}{}%y = ConvInteger(%x, %w{}) {{pads=[1,0,1,1], group={}}}\noutput %y\n", text,
                  zeros, operands, groups),
      true, 0));
}

TEST(ComputedFilters, OfDepthwiseOnesAreFiltersOfFloats) {
  EXPECT_EQ(Filtered(1, 4, 4), "Cast Cast Conv Cast");
  EXPECT_EQ(
      Filtered(1, 4, 4, "input %u: u8[] = noise(0, 255)\nconst %v: i8[4] = -7 0 9 3\n", ", %u, %v"),
      "Cast Cast Sub Cast Cast Reshape Sub Conv Cast");
  EXPECT_EQ(Filtered(1, 2, 2, "", "", 86), "Cast Cast Conv Cast");
  EXPECT_EQ(Filtered(1, 1, 1), "Cast Cast Conv Cast");
}

TEST(ComputedFilters, OfOthersStayBytes) {
  for (const std::string& ops :
       {Filtered(1, 1, 4), Filtered(1, 4, 8), Filtered(2, 2, 2), Filtered(1, 2, 2, "", "", 87)})
    EXPECT_EQ(ops, "ConvInteger");
}

/// A ConvInteger of constant filters of one channel, with `end` behind it.
std::string OneChannel(std::string_view type, std::string_view end) {
  return Ops(Rewrite(SpellComputedFilters,
                     fmt::format("input %x: u8[1x4x5x4] = noise(0, 255)\n"
                                 "const %w: {}[8x1x3x3] = noise(-128, 127)\n"
                                 "%s = ConvInteger(%x, %w) {{group=4}}\n{}output %y\n",
                                 type, end),
                     true, 0));
}

TEST(ComputedFilters, OfOneChannelAreFloatsWhereSumsStayIntegers) {
  EXPECT_EQ(OneChannel("i8", "%y = Neg(%s)\n"), "Cast Cast Conv Cast Neg");
  EXPECT_EQ(OneChannel("i8", "%y = Cast(%s) {to=\"f32\"}\n"), "ConvInteger Cast");
}

TEST(BlockedScales, BecomeAnAxis) {
  constexpr std::string_view kLast =
      "input %x: i8[3x5x48] = noise(-99, 99)\ninput %s: f32[3x5x3] = noise(0.1, 1)\n"
      "const %z: i8[3x5x3] = noise(-5, 5)\n";
  EXPECT_EQ(Blocked(kLast, "DequantizeLinear", "axis=-1, block_size=16"),
            "Reshape Reshape Reshape DequantizeLinear Reshape");
  constexpr std::string_view kFirst =
      "input %x: f32[32x7]\nconst %s: f32[2x7] = noise(0.1, 1)\ninput %z: u8[2x7]\n";
  EXPECT_EQ(Blocked(kFirst, "QuantizeLinear", "axis=0, block_size=16"),
            "Reshape Reshape Reshape QuantizeLinear Reshape");
}

TEST(BlockedScales, StayWhereBlocksDiffer) {
  constexpr std::string_view kRagged =
      "input %x: i8[5x37] = noise(-99, 99)\nconst %s: f32[5x3]\nconst %z: i8[5x3]\n";
  EXPECT_EQ(Blocked(kRagged, "DequantizeLinear", "axis=1, block_size=16"), "DequantizeLinear");
  constexpr std::string_view kOne =
      "input %x: i8[5x16] = noise(-99, 99)\nconst %s: f32[5x1]\nconst %z: i8[5x1]\n";
  EXPECT_EQ(Blocked(kOne, "DequantizeLinear", "axis=1, block_size=16"), "DequantizeLinear");
  constexpr std::string_view kConstant =
      "const %x: i8[5x32] = noise(-99, 99)\nconst %s: f32[5x2]\ninput %z: i8[5x2]\n";
  EXPECT_EQ(Blocked(kConstant, "DequantizeLinear", "axis=1, block_size=16"), "DequantizeLinear");
}

std::string Spelled(std::string_view text) { return Ops(Rewrite(SpellTyped, text, true, 1e-5)); }

TEST(SpellTyped, CastsOfHalvesGoThroughFloats) {
  EXPECT_EQ(Spelled("input %x: i64[37] = noise(-9, 9)\n%y = Cast(%x) {to=\"f16\"}\noutput %y\n"),
            "Cast Cast");
  EXPECT_EQ(Spelled("input %x: f16[37]\n%y = Cast(%x) {to=\"f64\"}\noutput %y\n"), "Cast Cast");
  EXPECT_EQ(Spelled("input %x: f16[37]\n%y = Cast(%x) {to=\"u8\"}\noutput %y\n"), "Cast");
}

TEST(SpellTyped, PowersAreProducts) {
  constexpr std::string_view kForm =
      "input %x: {}[37] = noise(-9, 9)\nconst %e: {} = {}\n"
      "%y = Pow(%x, %e)\noutput %y\n";
  EXPECT_EQ(Spelled(fmt::format(kForm, "i64", "i64[]", 2)), "Mul");
  EXPECT_EQ(Spelled(fmt::format(kForm, "f64", "f32[]", 3)), "Mul Mul");
  EXPECT_EQ(Spelled(fmt::format(kForm, "i64", "i64[1x1]", 2)), "Pow");
  EXPECT_EQ(Spelled(fmt::format(kForm, "i32", "f32[]", 2)), "Pow");
  EXPECT_EQ(Spelled(fmt::format(kForm, "i64", "i64[]", 4)), "Pow");
}

TEST(SpellTyped, ClipsOfIntegersHaveBothBounds) {
  constexpr std::string_view kForm =
      "input %x: {0}[37] = noise(-9, 9)\nconst %l: {0}[] = -3\nconst %h: {0}[] = 4\n"
      "%y = Clip(%x{1})\noutput %y\n";
  EXPECT_EQ(Spelled(fmt::format(kForm, "i64", ", %l")), "Max");
  EXPECT_EQ(Spelled(fmt::format(kForm, "i32", ", _, %h")), "Min");
  EXPECT_EQ(Spelled(fmt::format(kForm, "i8", "")), "Identity");
  EXPECT_EQ(Spelled(fmt::format(kForm, "i64", ", %l, %h")), "Clip");
  EXPECT_EQ(Spelled(fmt::format(kForm, "f32", ", %l")), "Clip");
}

TEST(SpellTyped, AxesThatLieApartAreReducedOneByOne) {
  constexpr std::string_view kForm =
      "input %x: {}[2x4x3x5x1x6]\nconst %a: i64[{}] = {}\n%y = {}(%x, %a) {{keepdims={}}}\n"
      "output %y\n";
  EXPECT_EQ(Spelled(fmt::format(kForm, "f32", 2, "5 3", "ReduceMean", 0)), "ReduceMean");
  EXPECT_EQ(Spelled(fmt::format(kForm, "f32", 2, "5 2", "ReduceMean", 0)),
            "ReduceMean ReduceMean Reshape");
  EXPECT_EQ(Spelled(fmt::format(kForm, "f32", 3, "0 2 5", "ReduceMax", 1)),
            "ReduceMax ReduceMax ReduceMax Reshape");
  EXPECT_EQ(Spelled(fmt::format(kForm, "f32", 2, "2 3", "ReduceSum", 0)), "ReduceSum");
  EXPECT_EQ(Spelled(fmt::format(kForm, "f32", 3, "0 2 5", "ReduceSumSquare", 0)),
            "ReduceSumSquare ReduceSum ReduceSum Reshape");
  EXPECT_EQ(Spelled(fmt::format(kForm, "f64", 2, "2 5", "ReduceL2", 0)),
            "ReduceSumSquare ReduceSum Sqrt Reshape");
  EXPECT_EQ(Spelled(fmt::format(kForm, "f32", 2, "2 5", "ReduceLogSum", 0)),
            "ReduceSum ReduceLogSum Reshape");
  EXPECT_EQ(Spelled(fmt::format(kForm, "i64", 2, "2 5", "ReduceProd", 0)),
            "ReduceProd ReduceProd Reshape");
  EXPECT_EQ(Spelled(fmt::format(kForm, "i8", 2, "2 5", "ReduceMin", 0)),
            "ReduceMin ReduceMin Reshape");
  EXPECT_EQ(Spelled(fmt::format(kForm, "f16", 2, "2 5", "ReduceMean", 0)),
            "Cast ReduceMean ReduceMean Cast Reshape");
  EXPECT_EQ(Spelled(fmt::format(kForm, "i64", 2, "2 5", "ReduceMean", 0)), "ReduceMean");
}

TEST(SpellTyped, WideRunsAreReducedAtOnce) {
  constexpr std::string_view kForm =
      "input %x: {}[7x4x{}]\nconst %a: i64[2] = 0 2\n%y = ReduceSum(%x, %a)\noutput %y\n";
  EXPECT_EQ(Spelled(fmt::format(kForm, "f32", "9x8")), "ReduceSum");
  EXPECT_EQ(Spelled(fmt::format(kForm, "f32", "7x8")), "ReduceSum ReduceSum Reshape");
  EXPECT_EQ(Spelled(fmt::format(kForm, "f32", "9x20")), "ReduceSum ReduceSum Reshape");
  EXPECT_EQ(Spelled(fmt::format(kForm, "i64", "9x20")), "ReduceSum");
}

TEST(SpellTyped, LogSumExpIsSpelled) {
  EXPECT_EQ(Spelled("input %x: f32[3x5x7]\nconst %a: i64[2] = 0 2\n"
                    "%y = ReduceLogSumExp(%x, %a) {keepdims=0}\noutput %y\n"),
            "ReduceMax Clip Sub Exp ReduceSum Log Add Reshape");
  EXPECT_EQ(Spelled("input %x: f32[3x0]\nconst %a: i64[1] = 1\n%y = ReduceLogSumExp(%x, %a)\n"
                    "output %y\n"),
            "ReduceLogSumExp");
}

TEST(ByteMoves, RunOnBytes) {
  const std::pair<std::string_view, std::string_view> rows[] = {
      {"Reshape", "const %i: i64[3] = 2 4 36\n%r = Reshape(%x, %i)\n"},
      {"Flatten", "%r = Flatten(%x)\n"},
      {"Unsqueeze", "const %i: i64[1] = 0\n%r = Unsqueeze(%x, %i)\n"},
      {"Squeeze", "const %i: i64[1] = 0\n%r = Squeeze(%x, %i)\n"},
      {"Expand", "const %i: i64[4] = 3 8 6 6\n%r = Expand(%x, %i)\n"},
      {"Tile", "const %i: i64[4] = 1 2 1 3\n%r = Tile(%x, %i)\n"},
      {"Transpose", "%r = Transpose(%x) {perm=[0,2,3,1]}\n"},
      {"Slice",
       "const %b: i64[1] = 1\nconst %e: i64[1] = 7\nconst %a: i64[1] = 1\n"
       "%r = Slice(%x, %b, %e, %a)\n"},
      {"Gather", "const %i: i64[3] = 5 0 5\n%r = Gather(%x, %i) {axis=1}\n"},
      {"DepthToSpace", "%r = DepthToSpace(%x) {blocksize=2}\n"},
      {"SpaceToDepth", "%r = SpaceToDepth(%x) {blocksize=2}\n"},
      {"ChannelShuffle", "%r = ChannelShuffle(%x) {groups=2}\n"},
      {"Resize", "const %k: f32[4] = 1 1 2 2\n%r = Resize(%x, _, %k) {mode=\"nearest\"}\n"},
      {"Pad", "const %p: i64[8] = 0 0 1 1 0 0 2 2\n%r = Pad(%x, %p)\n"},
      {"Pad", "const %p: i64[8] = 0 0 1 1 0 0 2 2\n%r = Pad(%x, %p) {mode=\"reflect\"}\n"},
      {"MaxPool", "%r = MaxPool(%x) {kernel_shape=[3,3], pads=[1,1,1,1], strides=[2,2]}\n"},
      {"ReduceMax", "const %a: i64[1] = 1\n%r = ReduceMax(%x, %a)\n"},
      {"ReduceMin", "const %a: i64[2] = 2 3\n%r = ReduceMin(%x, %a)\n"},
  };
  for (const auto& [op, body] : rows)
    EXPECT_EQ(Moved(body), fmt::format("{} DequantizeLinear QuantizeLinear", op)) << body;
}

TEST(ByteMoves, GoThroughChains) {
  EXPECT_EQ(Moved("const %i: i64[5] = 1 2 4 6 6\nconst %j: i64[4] = 1 8 6 6\n"
                  "%a = Reshape(%x, %i)\n%b = Transpose(%a) {perm=[0,2,1,3,4]}\n"
                  "%r = Reshape(%b, %j)\n"),
            "Reshape Transpose Reshape DequantizeLinear QuantizeLinear");
  EXPECT_EQ(
      Ops(Rewrite(MoveBytes,
                  std::string(kHead) + "%a, %b = Split(%x) {axis=1}\n%c = Relu(%a)\n%d = Neg(%b)\n"
                                       "output %c\noutput %d\n",
                  true, 0)),
      "Split DequantizeLinear Relu DequantizeLinear Neg");
}

TEST(ByteMoves, JoinOperands) {
  const std::string equal = std::string(kHead) +
                            "input %p: u8[1x3x6x6] = noise(0, 255)\n%w = DequantizeLinear(%p, %s, "
                            "%z)\n";
  EXPECT_EQ(Moved("%r = Concat(%x, %w) {axis=1}\n", equal),
            "Concat DequantizeLinear QuantizeLinear");
  const std::string unequal =
      std::string(kHead) +
      "input %p: u8[1x3x6x6] = noise(0, 255)\n%w = DequantizeLinear(%p, %t, "
      "%v)\n";
  EXPECT_EQ(Moved("%r = Concat(%x, %w) {axis=1}\n", unequal),
            "DequantizeLinear DequantizeLinear QuantizeLinear QuantizeLinear Concat");
}

TEST(ByteMoves, RefuseWithAReason) {
  const auto reason = [](std::string_view body) {
    const std::string text = fmt::format("{}{}", kHead, body);
    ir::Graph graph = Rewrite(MoveBytes, text, true, 0);
    const std::vector<MovedInFloat> list = ListMovedInFloat(graph);
    return list.size() == 1 ? list[0].reason : fmt::format("{} reasons", list.size());
  };
  EXPECT_EQ(reason("%y = Flatten(%x)\noutput %y\n"), "the result is an output of the graph");
  EXPECT_EQ(reason("const %c: f32[] = 0.01\nconst %p: i64[8] = 0 0 1 1 0 0 2 2\n"
                   "%r = Pad(%x, %p, %c)\n%y = Relu(%r)\noutput %y\n"),
            "0.01 is between two of its steps");
  EXPECT_EQ(reason("%w = DequantizeLinear(%q, %t, %v)\n%r = Concat(%x, %w) {axis=1}\n"
                   "%y = Relu(%r)\noutput %y\n"),
            "operands have different scales or zero points");
  EXPECT_EQ(reason("const %n: f32[] = -0.5\n%w = DequantizeLinear(%q, %n, %v)\n"
                   "%r = MaxPool(%w) {kernel_shape=[2,2]}\n%a = Relu(%r)\n%y = Neg(%x)\n"
                   "output %a\noutput %y\n"),
            "the scale -0.5 is not positive");
  EXPECT_EQ(reason("const %n: f32[8] = noise(0.1, 0.2)\n%w = DequantizeLinear(%q, %n) {axis=1}\n"
                   "%r = Flatten(%w)\n%a = Relu(%r)\n%y = Neg(%x)\noutput %a\noutput %y\n"),
            "it has 8 scales");
  EXPECT_EQ(reason("input %n: f32[] = noise(0.1, 0.2)\n%w = DequantizeLinear(%q, %n)\n"
                   "%r = Flatten(%w)\n%a = Relu(%r)\n%y = Neg(%x)\noutput %a\noutput %y\n"),
            "its scale is computed at run time");
}

std::string Tabled(std::string_view body) {
  return Ops(Rewrite(MakeByteTables, fmt::format("{}{}output %y\n", kHead, body), true, 0));
}

TEST(ByteTables, HoldFunctionsOfOneByte) {
  EXPECT_EQ(Tabled("%r = Sigmoid(%x)\n%y = QuantizeLinear(%r, %t, %v)\n"), "TableLookup");
  EXPECT_EQ(Tabled("%y = QuantizeLinear(%x, %t, %v)\n"), "TableLookup");
  // Through what is rounded in between, and through a second reader.
  EXPECT_EQ(Tabled("%a = Sigmoid(%x)\n%b = QuantizeLinear(%a, %t, %v)\n"
                   "%c = DequantizeLinear(%b, %t, %v)\n%d = Mul(%x, %c)\n"
                   "%y = QuantizeLinear(%d, %t, %v)\n"),
            "TableLookup");
  EXPECT_EQ(Tabled("const %k: f32[1x1x1x1] = 3.7\n%r = Mul(%k, %x)\n"
                   "%y = QuantizeLinear(%r, %t, %v)\n"),
            "TableLookup");
  // To signed bytes and back.
  EXPECT_EQ(Tabled("const %i: i8[] = -11\n%a = QuantizeLinear(%x, %s, %i)\n"
                   "%b = DequantizeLinear(%a, %s, %i)\n%c = Relu(%b)\n"
                   "%y = QuantizeLinear(%c, %t, %i)\n"),
            "TableLookup");
}

TEST(ByteTables, GoWhereTheyChangeNothing) {
  EXPECT_EQ(Tabled("%a = QuantizeLinear(%x, %s, %z)\n%b = Flatten(%a)\n"
                   "%y = DequantizeLinear(%b, %t, %v)\n"),
            "Flatten DequantizeLinear");
  // Scales that are no numbers keep nothing.
  EXPECT_EQ(Tabled("const %n: f32[] = 0\n%w = DequantizeLinear(%q, %n, %v)\n"
                   "%y = QuantizeLinear(%w, %n, %v)\n"),
            "DequantizeLinear TableLookup");
}

TEST(ByteTables, FollowBytesThatTakeTheNameOfAnOutput) {
  // The choice between equal bytes goes: what wrote %a writes the output %w, which the table reads.
  EXPECT_EQ(Tabled("input %f: f32[1x8x6x6]\nconst %o: bool[1] = 1\n"
                   "%a = QuantizeLinear(%f, %t, %v)\n%b = DequantizeLinear(%a, %t, %v)\n"
                   "%w = Where(%o, %a, %a)\n%c = Sigmoid(%b)\n"
                   "%y = QuantizeLinear(%c, %s, %z)\noutput %w\n"),
            "DequantizeLinear QuantizeLinear TableLookup");
}

TEST(ByteTables, LeaveFunctionsOfMore) {
  EXPECT_EQ(Tabled("input %p: u8[1x8x6x6] = noise(0, 255)\n%w = DequantizeLinear(%p, %s, %z)\n"
                   "%r = Add(%x, %w)\n%y = QuantizeLinear(%r, %t, %v)\n"),
            "DequantizeLinear DequantizeLinear Add QuantizeLinear");
  EXPECT_EQ(Tabled("const %k: f32[8x1x1] = noise(0, 1)\n%r = Mul(%x, %k)\n"
                   "%y = QuantizeLinear(%r, %t, %v)\n"),
            "DequantizeLinear Mul QuantizeLinear");
  EXPECT_EQ(Tabled("const %k: f32[2x1x1x1x1] = splat 2\n%r = Mul(%x, %k)\n"
                   "%y = QuantizeLinear(%r, %t, %v)\n"),
            "DequantizeLinear Mul QuantizeLinear");
}

TEST(Constants, OfElementwiseOperatorsAreDequantised) {
  const std::string text =
      "input %x: f32[1x3x4x4]\nconst %q: i8[3x1x1] = noise(-99, 99)\nconst %s: f32[] = 0.02\n"
      "const %w: i8[5x3x1x1] = noise(-99, 99)\nconst %t: f32[] = 0.05\n"
      "%f = DequantizeLinear(%q, %s)\n%g = DequantizeLinear(%w, %s)\n%a = Mul(%x, %f)\n"
      "%y = Conv(%a, %g)\noutput %y\n";
  EXPECT_EQ(Ops(Rewrite(DequantiseConstants, text, true, 0)), "DequantizeLinear Mul Conv");
}

TEST(Clamps, GoWhereTheQuantiserSaturates) {
  const auto left = [](std::string_view clamp, int zero) {
    return Ops(Rewrite(
        DropImpliedClamps,
        fmt::format("input %x: f32[64] = noise(-9, 9)\nconst %s: f32[] = 0.02\n"
                    "const %z: u8[] = {}\nconst %n: f32[] = 0\nconst %m: f32[] = 6\n%r = {}\n"
                    "%y = QuantizeLinear(%r, %s, %z)\noutput %y\n",
                    zero, clamp),
        true, 0));
  };
  EXPECT_EQ(left("Relu(%x)", 0), "QuantizeLinear");
  EXPECT_EQ(left("Relu(%x)", 3), "Relu QuantizeLinear");
  EXPECT_EQ(left("Clip(%x, %n, %m)", 0), "QuantizeLinear");
  EXPECT_EQ(left("Clip(%x, %n, %n)", 0), "Clip QuantizeLinear");
}

}  // namespace
}  // namespace fettle::passes
