// cpu.elementwise.typed: every operator on every type, with operands of the output's shape, of one
// element and of gaps, to the last bit.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kernels/cpu/simd/targets.h"
#include "tests/kernels/kernel_check.h"
#include "tests/slowed.h"

namespace fettle::kernels {

extern const KernelDesc kCpuElementwiseTyped;

namespace {

constexpr Tolerance kToTheBit = {.atol = 0, .rtol = 0};

struct NumberType {
  std::string_view name, all, few;  // ranges of numbers: all of the type, few about 0
};
constexpr NumberType kIntegers[] = {
    {"i8", "-128, 127", "-3, 3"},
    {"u8", "0, 255", "0, 3"},
    {"i16", "-32768, 32767", "-3, 3"},
    {"u16", "0, 65535", "0, 3"},
    {"i32", "-2147483648, 2147483647", "-3, 3"},
    {"u32", "0, 4294967295", "0, 3"},
    {"i64", "-4000000000000000000, 4000000000000000000", "-3, 3"},
    {"u64", "0, 4000000000000000000", "0, 3"},
};
constexpr NumberType kDouble = {"f64", "-1e18, 1e18", "-3, 3"};
constexpr NumberType kBool = {"bool", "0, 1", "0, 1"};

/// Shapes of two operands whose output is 6x1x700, or as large, or of short rows, some of which are
/// joined.
constexpr std::string_view kShapes[][2] = {{"6x1x700", "6x1x700"},
                                           {"6x1x700", ""},
                                           {"", "6x700"},
                                           {"6x1x1", "4x700"},
                                           {"3x1", "7x1x5"},
                                           {"7x1x4", "200x4"},
                                           {"5x1x3x1", "1x7x1x3"},
                                           {"4x9x5x2x3", "1x9x1x2x1"},
                                           {"3x5x3x2x70", "1x1x3x1x70"},
                                           {"3x2x1", "3x2x650"}};

void CheckPair(std::string_view op, const NumberType& type, std::string_view attributes = "") {
  static int cases = 0;
  for (const auto& [a, b] : kShapes) {
    for (const std::string_view range : {type.all, type.few}) {
      if (cases++ % CasesStride() != 0) continue;
      const std::string text = fmt::format(
          "input %a: {0}[{2}] = noise({4})\ninput %b: {0}[{3}] = noise({4})\n"
          "%y = {1}(%a, %b){5}\noutput %y\n",
          type.name, op, a, b, range, attributes);
      SCOPED_TRACE(text);
      CheckKernel(kCpuElementwiseTyped, text, kToTheBit);
    }
  }
}

void CheckOne(std::string_view op, const NumberType& type) {
  for (const std::string_view shape : {"1", "5x7", "2x700"}) {
    const std::string text = fmt::format("input %a: {}[{}] = noise({})\n%y = {}(%a)\noutput %y\n",
                                         type.name, shape, type.all, op);
    SCOPED_TRACE(text);
    CheckKernel(kCpuElementwiseTyped, text, kToTheBit);
  }
}

constexpr std::string_view kNumeric[] = {"Add",         "Sub",     "Mul",           "Div",
                                         "Max",         "Min",     "Equal",         "Less",
                                         "LessOrEqual", "Greater", "GreaterOrEqual"};

TEST(Typed, PairsOfIntegers) {
  for (const NumberType& type : kIntegers) {
    for (std::string_view op : kNumeric) CheckPair(op, type);
    for (std::string_view op : {"BitwiseAnd", "BitwiseOr", "BitwiseXor", "Mod"})
      CheckPair(op, type);
    CheckPair("Mod", type, " {fmod=1}");
    if (type.name[0] != 'u') continue;
    for (std::string_view to : {"LEFT", "RIGHT"})
      CheckPair("BitShift", type, fmt::format(" {{direction=\"{}\"}}", to));
  }
}

TEST(Typed, PairsOfDoublesAndBools) {
  for (std::string_view op : kNumeric) CheckPair(op, kDouble);
  for (std::string_view op : {"And", "Or", "Xor", "Equal"}) CheckPair(op, kBool);
}

TEST(Typed, OneOperand) {
  for (const NumberType& type : kIntegers) {
    const bool is_signed = type.name[0] == 'i';
    for (std::string_view op : {"Abs", "BitwiseNot", "Sign"}) CheckOne(op, type);
    if (!is_signed) continue;
    for (std::string_view op : {"Neg", "Relu"}) CheckOne(op, type);
  }
  for (std::string_view op : {"Abs", "Neg", "Relu", "Sign"}) CheckOne(op, kDouble);
  CheckOne("Not", kBool);
}

TEST(Typed, ClipBetweenOperands) {
  for (const NumberType& type : kIntegers) {
    const std::string text = fmt::format(
        "input %x: {0}[3x600] = noise({1})\ninput %l: {0}[] = noise({2})\n"
        "input %h: {0}[] = noise({2})\n%y = Clip(%x, %l, %h)\noutput %y\n",
        type.name, type.all, type.few);
    SCOPED_TRACE(text);
    CheckKernel(kCpuElementwiseTyped, text, kToTheBit);
  }
}

TEST(Typed, OperandsThatAreLeftOut) {
  const std::string head = "input %x: i32[5]\ninput %l: i32[]\n";
  for (const std::string_view node : {"Clip(%x)", "Clip(%x, %l)", "Max(%x)", "Max(%x, %l, %x)"}) {
    const auto group = ops::Parse(fmt::format("{}%y = {}\noutput %y\n", head, node));
    ASSERT_TRUE(group.ok()) << group.status().message();
    EXPECT_FALSE(CandidatesOf(kCpuElementwiseTyped, *group, TestDevice(1)).ok()) << node;
  }
}

TEST(Typed, OperandsOfOtherTypes) {
  const auto group = ops::Parse(
      "input %x: f64[5]\nconst %l: f32[] = -1\nconst %h: f32[] = 1\n%y = Clip(%x, %l, %h)\n"
      "output %y\n");
  ASSERT_TRUE(group.ok()) << group.status().message();
  EXPECT_FALSE(CandidatesOf(kCpuElementwiseTyped, *group, TestDevice(1)).ok());
}

TEST(Typed, CastsBetweenAll) {
  constexpr std::string_view kTypes[] = {"i8",  "u8",  "i16", "u16", "i32", "u32",
                                         "i64", "u64", "f32", "f64", "bool"};
  for (const std::string_view from : kTypes) {
    for (const std::string_view to : kTypes) {
      if (from == to) continue;
      const bool is_float = from[0] == 'f';
      for (const std::string_view range :
           {is_float ? "-1e18, 1e18" : "0, 127", is_float ? "-300, 300" : "0, 9", "0, 1"}) {
        const std::string text =
            fmt::format("input %x: {}[3x600] = noise({})\n%y = Cast(%x) {{to=\"{}\"}}\noutput %y\n",
                        from, range, to);
        SCOPED_TRACE(text);
        CheckKernel(kCpuElementwiseTyped, text, kToTheBit);
      }
    }
  }
}

/// Some vectors fit 32 bits, some do not.
TEST(Typed, CastsToLongIntegersOnEachTarget) {
  for (const std::string_view target : SimdTargets()) {
    ForceSimdTarget(target);
    for (const std::string_view from : {"f32", "f64"}) {
      for (const std::string_view range : {"-2147483648, 2147483647", "-3e9, 3e9", "-1e18, 1e18"}) {
        const std::string text = fmt::format(
            "input %x: {}[3x601] = noise({})\n%y = Cast(%x) {{to=\"i64\"}}\noutput %y\n", from,
            range);
        SCOPED_TRACE(fmt::format("{} {}", target, text));
        CheckKernel(kCpuElementwiseTyped, text, kToTheBit);
      }
    }
  }
  ForceSimdTarget("");
}

}  // namespace
}  // namespace fettle::kernels
