// Element-wise operators in all types: each is lowered, and then agrees with the oracle on the CPU
// and on OpenCL devices, or says why it is not. Which groups share a program there.
#include "kernels/expr/expr.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "kernels/backend.h"
#include "kernels/cpu/epilogue/epilogue.h"
#include "tests/kernels/kernel_check.h"
#include "tests/opencl_device.h"

namespace fettle::kernels {

extern const KernelDesc kCpuElementwiseChain;

namespace {

using namespace std::string_view_literals;

constexpr DType kTypes[] = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kBool,
                            DType::kI8,  DType::kU8,  DType::kI16,  DType::kU16, DType::kI32,
                            DType::kU32, DType::kI64, DType::kU64};

/// Values for which the function of an operator is defined and its bends are met.
std::string RangeFor(std::string_view op, DType type) {
  if (type == DType::kBool) return "noise(0, 1)";
  if (type == DType::kU8 || type == DType::kU16 || type == DType::kU32 || type == DType::kU64)
    return "noise(0, 9)";
  if (!IsFloat(type)) return "noise(-9, 9)";
  const std::set<std::string_view> positive{"Log", "Pow", "Sqrt"};
  const std::set<std::string_view> unit{"Acos", "Asin", "Atanh", "Tan"};
  if (positive.contains(op)) return "noise(0.1, 4)";
  if (unit.contains(op)) return "noise(-0.9, 0.9)";
  return op == "Acosh" ? "noise(1, 9)" : "noise(-4, 4)";
}

/// Operands that are not all of one type and broadcast: {0} is the type, {1} the range.
std::string_view OwnForm(std::string_view op) {
  static const std::map<std::string_view, std::string_view> kForms = {
      {"BatchNormalization",
       "input %x: {0}[2x5x7]\nconst %s: {0}[5]\nconst %b: {0}[5]\nconst %m: {0}[5]\n"
       "const %v: {0}[5] = noise(0.5, 2)\n%y = BatchNormalization(%x, %s, %b, %m, %v)\n"},
      {"BitCast", "input %x: {0}[31] = {1}\n%y = BitCast(%x) {{to=\"{0}\"}}\n"},
      {"Cast", "input %x: {0}[3x31] = {1}\n%y = Cast(%x) {{to=\"f32\"}}\n"},
      {"CastLike", "input %x: f32[3x31] = {1}\ninput %l: {0}[1]\n%y = CastLike(%x, %l)\n"},
      {"Clip",
       "input %x: {0}[3x31] = {1}\nconst %l: {0}[] = 1\nconst %h: {0}[] = 3\n"
       "%y = Clip(%x, %l, %h)\n"},
      {"DequantizeLinear",
       "input %x: {0}[2x5x7] = {1}\nconst %s: f32[] = 0.05\nconst %z: {0}[] = 1\n"
       "%y = DequantizeLinear(%x, %s, %z)\n"},
      {"QuantizeLinear",
       "input %x: f32[2x5x7] = noise(-9, 9)\nconst %s: f32[] = 0.05\nconst %z: {0}[] = 1\n"
       "%y = QuantizeLinear(%x, %s, %z)\n"},
      {"Where",
       "input %c: bool[3x31] = noise(0, 1)\ninput %a: {0}[3x31] = {1}\ninput %b: {0}[31] = {1}\n"
       "%y = Where(%c, %a, %b)\n"},
  };
  const auto at = kForms.find(op);
  return at == kForms.end() ? ""sv : at->second;
}

/// One node of the operator on operands of `type`; nothing where it has no such operands.
std::optional<CaseGroup> GroupOf(const ops::Operator& op, DType type) {
  const std::string range = RangeFor(op.name, type);
  std::string text, arguments;
  if (const std::string_view own = OwnForm(op.name); !own.empty()) {
    text = fmt::format(fmt::runtime(own), DTypeName(type), range);
  } else {
    const int operands = op.max_inputs == 1 ? 1 : std::max(op.min_inputs, 2);
    for (int i = 0; i < operands; ++i) {
      text += fmt::format("input %x{}: {}[{}] = {}\n", i, DTypeName(type),
                          i == 0 ? "3x5x37" : "5x1", range);
      arguments += fmt::format("{}%x{}", i == 0 ? "" : ", ", i);
    }
    text += fmt::format("%y = {}({})\n", op.name, arguments);
  }
  text += "output %y\n";
  const Result<EvaluatedCase> evaluated = EvaluateCase({.name = op.name, .graph = text});
  if (!evaluated.ok()) return std::nullopt;
  return MakeGroup(*evaluated, 0, 1);
}

std::vector<const ops::Operator*> ElementwiseOperators() {
  const std::vector<std::string_view> lowered = expr::LoweredOperators();
  std::vector<const ops::Operator*> found;
  for (const ops::Operator* op : ops::AllOps()) {
    if (op->Has(ir::Trait::kElementwise) ||
        std::binary_search(lowered.begin(), lowered.end(), op->name))
      found.push_back(op);
  }
  return found;
}

std::string NameOfOperator(const testing::TestParamInfo<const ops::Operator*>& info) {
  return std::string(info.param->name);
}

class ExprTest : public testing::TestWithParam<const ops::Operator*> {};

/// Every state that `kernel` lists for the group, or the first.
void Check(const KernelDesc& kernel, const CaseGroup& group, const Device& device, bool all) {
  const auto match = MatchGroup(kernel, group.graph, device);
  if (!match.ok()) {
    EXPECT_EQ(match.status().code(), StatusCode::kUnsupported);
    EXPECT_FALSE(match.status().message().empty());
    return;
  }
  for (const StateAssignment& states : (*match)->states()) {
    EXPECT_TRUE(CheckRun({kernel, group, {group.graph, states, 3}, {}, ""}, device));
    if (!all) break;
  }
}

/// The same on the OpenCL device of tests, where there is one.
void CheckOnOpenCl(const CaseGroup& group, bool all) {
  const KernelDesc* chain = FindKernel("opencl.elementwise.chain");
  if (chain != nullptr && TestOpenClDevice().ok()) Check(*chain, group, **TestOpenClDevice(), all);
}

TEST_P(ExprTest, LowersAndAgreesWithTheOracleOrSaysWhy) {
  const std::vector<std::string_view> lowered = expr::LoweredOperators();
  const bool is_lowered = std::binary_search(lowered.begin(), lowered.end(), GetParam()->name);
  int groups = 0, taken = 0;
  for (const DType type : kTypes) {
    SCOPED_TRACE(DTypeName(type));
    const std::optional<CaseGroup> group = GroupOf(*GetParam(), type);
    if (!group) continue;
    ++groups;
    const auto expr = expr::Lower(*group->graph);
    EXPECT_EQ(MatchGroup(kCpuElementwiseChain, group->graph, TestDevice(3)).ok(), expr.ok());
    if (!expr.ok()) {
      EXPECT_EQ(expr.status().code(), StatusCode::kUnsupported);
      EXPECT_THAT(expr.status().message(), testing::HasSubstr(std::string(GetParam()->name)));
      continue;
    }
    ++taken;
    Check(kCpuElementwiseChain, *group, TestDevice(3), true);
    CheckOnOpenCl(*group, false);
  }
  EXPECT_GT(groups, 0) << "no operands fit the operator";
  EXPECT_EQ(taken > 0, is_lowered);
  // What takes floats is lowered for them.
  const auto floats = GroupOf(*GetParam(), DType::kF32);
  EXPECT_TRUE(is_lowered || !floats || GetParam()->name == "BitCast");
}

INSTANTIATE_TEST_SUITE_P(All, ExprTest, testing::ValuesIn(ElementwiseOperators()), NameOfOperator);

/// All conversions between types.
TEST(ExprCasts, AgreeWithTheOracleOrSayWhy) {
  int taken = 0;
  for (const DType from : kTypes) {
    for (const DType to : kTypes) {
      SCOPED_TRACE(fmt::format("{} to {}", DTypeName(from), DTypeName(to)));
      const CaseGroup group = ParseGroup(
          fmt::format("input %x: {}[3x31] = {}\n%y = Cast(%x) {{to=\"{}\"}}\noutput %y\n",
                      DTypeName(from), RangeFor("Cast", from), DTypeName(to)));
      const auto expr = expr::Lower(*group.graph);
      if (!expr.ok()) {
        EXPECT_THAT(expr.status().message(), testing::HasSubstr("not computed in fp32"));
        continue;
      }
      ++taken;
      Check(kCpuElementwiseChain, group, TestDevice(3), false);
      // One program each: a type is read as it is, and written as it is, whatever the other one.
      const bool is_new = from == DType::kF32 || to == DType::kF32;
      if (is_new) CheckOnOpenCl(group, false);
    }
  }
  EXPECT_GT(taken, 60);
}

TEST(ExprCasts, OfHalvesThatAreHeldAsFloatsAreViews) {
  for (const char* type : {"f16", "bf16"}) {
    const CaseGroup group = ParseGroup(
        fmt::format("input %x: {}[3x31]\n%y = Cast(%x) {{to=\"f32\"}}\noutput %y\n", type));
    const auto match = MatchGroup(kCpuElementwiseChain, group.graph, TestDevice(1)).value();
    const std::span<const StateAssignment> states = match->states();
    int views = 0;
    for (size_t i = 0; i < states.size(); ++i) {
      const bool same = states[i].inputs[0] == states[i].outputs[0];
      EXPECT_EQ(match->is_view(static_cast<int>(i)), same) << type << " " << i;
      views += same ? 1 : 0;
    }
    EXPECT_GT(views, 0);
  }
}

/// A statistic that is no constant is read along the channels.
TEST(ExprBatchNormalization, TakesStatisticsThatAreOperands) {
  const CaseGroup group = ParseGroup(
      "input %x: f32[2x5x7]\nconst %s: f32[5]\nconst %b: f32[5]\ninput %m: f32[5]\n"
      "input %v: f32[5] = noise(0.5, 2)\n%y = BatchNormalization(%x, %s, %b, %m, %v)\noutput %y\n");
  ASSERT_TRUE(expr::Lower(*group.graph).ok());
  Check(kCpuElementwiseChain, group, TestDevice(3), true);
  CheckOnOpenCl(group, true);
}

TEST(Expr, ReadsEachOperandOnce) {
  const CaseGroup group = ParseGroup(
      "input %x: f32[2x5]\nconst %c: f32[5]\n%a = Add(%x, %c)\n%b = Mul(%x, %c)\n"
      "%y = Sub(%a, %b)\noutput %y\n");
  const expr::Expr expr = expr::Lower(*group.graph).value();
  EXPECT_EQ(expr.leaves.size(), 2U);
  EXPECT_EQ(expr.code.size(), 3U);
  EXPECT_EQ(expr.results, std::vector<expr::Ref>{2});
}

/// What follows a convolution.
CaseGroup ConvolutionBefore(std::string_view nodes) {
  return ParseGroup(
      fmt::format("input %x: f32[1x4x5x5]\nconst %w: f32[8x4x1x1]\nconst %l: f32[] = -1\n"
                  "const %h: f32[] = 6\ninput %b: f32[]\n%c = Conv(%x, %w)\n{}output %y\n",
                  nodes));
}
/// As the CPU finishes it.
Epilogue EpilogueOf(std::string_view nodes) {
  const CaseGroup group = ConvolutionBefore(nodes);
  return Epilogue::Compile(*group.graph, ChannelsLastStates(*group.graph).value()).value();
}
/// As kernels that add a tensor finish it.
Epilogue SumOf(std::string_view nodes) {
  const CaseGroup group = ConvolutionBefore(nodes);
  return Epilogue::CompileSum(*group.graph, ChannelsLastStates(*group.graph).value()).value();
}

TEST(CpuEpilogue, ClampsWithoutAProgramWhereThatIsAll) {
  const Epilogue relu = EpilogueOf("%y = Relu(%c)\n");
  EXPECT_FALSE(relu.has_program());
  EXPECT_EQ(relu.clamp().low, 0);
  const Epilogue clip = EpilogueOf("%y = Clip(%c, %l, %h)\n");
  EXPECT_FALSE(clip.has_program());
  EXPECT_EQ(clip.clamp().low, -1);
  EXPECT_EQ(clip.clamp().high, 6);
  EXPECT_FALSE(EpilogueOf("%y = Clip(%c, _, %h)\n").has_program());
  EXPECT_TRUE(EpilogueOf("%y = Clip(%c, %b, %h)\n").has_program());
  EXPECT_TRUE(EpilogueOf("%r = Relu(%c)\n%y = Add(%r, %c)\n").has_program());
}

TEST(CpuEpilogue, AddsOneTensorOfItsShapeWithoutAProgram) {
  const Epilogue residual =
      SumOf("input %r: f32[1x8x5x5]\n%s = Add(%r, %c)\n%y = Clip(%s, %l, %h)\n");
  EXPECT_FALSE(residual.has_program());
  EXPECT_EQ(residual.addend(), 1);
  EXPECT_EQ(residual.clamp().low, -1);
  EXPECT_EQ(SumOf("%y = Relu(%c)\n").addend(), -1);
  EXPECT_EQ(SumOf("%y = Relu(%c)\n").clamp().low, 0);
  for (const char* nodes : {"input %r: f32[8x1x1]\n%y = Add(%c, %r)\n", "%y = Add(%c, %c)\n",
                            "input %r: f32[1x8x5x5]\n%a = Relu(%c)\n%y = Add(%a, %r)\n",
                            "input %r: f32[1x8x5x5]\n%a = Add(%c, %r)\n%y = Sigmoid(%a)\n"}) {
    EXPECT_TRUE(SumOf(nodes).has_program()) << nodes;
    EXPECT_EQ(SumOf(nodes).addend(), -1) << nodes;
  }
}

}  // namespace
}  // namespace fettle::kernels
