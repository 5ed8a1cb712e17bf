// What the arithmetic oracles do at the edges: NaN, infinities, overflow, division by zero, empty
// rows.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "tests/ops/evaluate_text.h"

namespace fettle::ops {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsNan;

constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(Integers, DivisionTruncatesAndIsTotal) {
  EXPECT_THAT(ElementsOf("const %a: i32[5] = 7 -7 7 5 -2147483648\n"
                         "const %b: i32[5] = 2 2 -2 0 -1\n%y = Div(%a, %b)\noutput %y\n"),
              ElementsAre(3, -3, -3, 0, -2147483648.0));
}

TEST(Integers, ModuloFollowsTheDivisorOrTheDividend) {
  EXPECT_THAT(ElementsOf("const %a: i32[5] = 7 -7 7 -7 3\nconst %b: i32[5] = 3 3 -3 -3 0\n"
                         "%y = Mod(%a, %b)\noutput %y\n"),
              ElementsAre(1, 2, -2, -1, 0));
  EXPECT_THAT(ElementsOf("const %a: i32[4] = 7 -7 7 -7\nconst %b: i32[4] = 3 3 -3 -3\n"
                         "%y = Mod(%a, %b) {fmod=1}\noutput %y\n"),
              ElementsAre(1, -1, 1, -1));
}

TEST(Integers, OverflowWraps) {
  EXPECT_THAT(ElementsOf("const %a: i8[2] = 127 -128\nconst %b: i8[2] = 1 -1\n"
                         "%y = Add(%a, %b)\noutput %y\n"),
              ElementsAre(-128, 127));
  EXPECT_THAT(ElementsOf("const %a: u8[1] = 3\nconst %b: u8[1] = 5\n%y = Sub(%a, %b)\n"
                         "output %y\n"),
              ElementsAre(254));
  EXPECT_THAT(ElementsOf("const %a: i8[1] = -128\n%y = Abs(%a)\noutput %y\n"), ElementsAre(-128));
}

TEST(Integers, PowersOfIntegersAreExact) {
  EXPECT_THAT(ElementsOf("const %a: i64[4] = 3 -1 2 1\nconst %e: i64[4] = 30 -3 -1 -9\n"
                         "%y = Pow(%a, %e)\noutput %y\n"),
              ElementsAre(205891132094649.0, -1, 0, 1));
}

TEST(Integers, ShiftsBeyondTheTypeGiveZero) {
  EXPECT_THAT(ElementsOf("const %a: u8[3] = 255 255 1\nconst %b: u8[3] = 1 8 200\n"
                         "%y = BitShift(%a, %b) {direction=\"LEFT\"}\noutput %y\n"),
              ElementsAre(254, 0, 0));
}

TEST(Floats, NanPassesThroughComparingFunctions) {
  for (const char* op : {"Relu(%x)", "Max(%x, %one)", "Max(%one, %x)", "Min(%x, %one)",
                         "Min(%one, %x)", "Clip(%x, %one, %one)", "Sign(%x)", "LeakyRelu(%x)"}) {
    SCOPED_TRACE(op);
    EXPECT_THAT(ElementsOf(fmt::format("const %x: f32[] = nan\nconst %one: f32[] = 1.0\n"
                                       "%y = {}\noutput %y\n",
                                       op)),
                ElementsAre(IsNan()));
  }
}

TEST(Floats, SaturatingFunctionsKeepTheirLimits) {
  EXPECT_THAT(ElementsOf("const %x: f32[2] = -inf inf\n%y = Sigmoid(%x)\noutput %y\n"),
              ElementsAre(0, 1));
  EXPECT_THAT(ElementsOf("const %x: f32[2] = -1000.0 1000.0\n%y = Softplus(%x)\noutput %y\n"),
              ElementsAre(0, 1000));
  EXPECT_THAT(ElementsOf("const %x: f32[4] = -2.5 -0.5 0.5 1.5\n%y = Round(%x)\noutput %y\n"),
              ElementsAre(-2, 0, 0, 2));
  EXPECT_THAT(ElementsOf("const %x: f32[3] = 1.0 inf -inf\n"
                         "%y = IsInf(%x) {detect_negative=0}\noutput %y\n"),
              ElementsAre(0, 1, 0));
}

TEST(Floats, UpperBoundOfClipWins) {
  EXPECT_THAT(ElementsOf("const %x: f32[2] = 0.0 9.0\nconst %lo: f32[] = 5.0\n"
                         "const %hi: f32[] = 2.0\n%y = Clip(%x, %lo, %hi)\noutput %y\n"),
              ElementsAre(2, 2));
}

TEST(Casts, FloatsTruncateAndSaturate) {
  EXPECT_THAT(ElementsOf("const %x: f32[6] = 1.9 -1.9 300.0 -5.0 nan inf\n"
                         "%y = Cast(%x) {to=\"u8\"}\noutput %y\n"),
              ElementsAre(1, 0, 255, 0, 0, 255));
  EXPECT_THAT(ElementsOf("const %x: f32[2] = 1e+30 -1e+30\n%y = Cast(%x) {to=\"i64\"}\n"
                         "output %y\n"),
              ElementsAre(0x1p63, -0x1p63));
}

TEST(Integers, ShrinkToTheNearestOf64Bits) {
  EXPECT_THAT(ElementsOf("const %x: i64[2] = 9000000000000000000 -9000000000000000000\n"
                         "%y = Shrink(%x) {bias=0.0, lambd=1.0}\noutput %y\n"),
              ElementsAre(9e18, -9e18));
  EXPECT_THAT(ElementsOf("const %x: u64[2] = 18446744073709551615 1\n"
                         "%y = Shrink(%x) {bias=0.25, lambd=1.5}\noutput %y\n"),
              ElementsAre(0x1p64, 0));
}

TEST(Casts, NaNIsQuantisedToTheLeastValue) {
  EXPECT_THAT(ElementsOf("const %x: f32[3] = nan 1.0 300.0\nconst %s: f32[] = 1.0\n"
                         "const %z: i8[] = 7\n%y = QuantizeLinear(%x, %s, %z)\noutput %y\n"),
              ElementsAre(-128, 8, 127));
  EXPECT_THAT(ElementsOf("const %x: f32[2] = nan 1.0\nconst %s: f32[] = 1.0\n"
                         "const %z: u8[] = 100\n%y = QuantizeLinear(%x, %s, %z)\noutput %y\n"),
              ElementsAre(0, 101));
}

TEST(Casts, IntegersDropHighBits) {
  EXPECT_THAT(ElementsOf("const %x: i32[3] = 257 -1 128\n%y = Cast(%x) {to=\"i8\"}\noutput %y\n"),
              ElementsAre(1, -1, -128));
  EXPECT_THAT(ElementsOf("const %x: i32[3] = 17 -1 8\n%y = Cast(%x) {to=\"i4\"}\noutput %y\n"),
              ElementsAre(1, -1, -8));
}

TEST(Casts, EightBitFloatsSaturateOnlyWhereAsked) {
  EXPECT_THAT(ElementsOf("const %x: f32[3] = 448.0 464.0 1000.0\n"
                         "%y = Cast(%x) {to=\"f8e4m3fn\"}\noutput %y\n"),
              ElementsAre(448, 448, 448));
  EXPECT_THAT(ElementsOf("const %x: f32[3] = 448.0 464.0 -1000.0\n"
                         "%y = Cast(%x) {saturate=0, to=\"f8e4m3fn\"}\noutput %y\n"),
              ElementsAre(448, 448, IsNan()));
  EXPECT_THAT(ElementsOf("const %x: f32[3] = 57344.0 61440.0 -inf\n"
                         "%y = Cast(%x) {saturate=0, to=\"f8e5m2\"}\noutput %y\n"),
              ElementsAre(57344, kInf, -kInf));
}

TEST(Reductions, EmptyRowsGiveTheNeutralElement) {
  const auto reduce = [](const char* op) {
    return ElementsOf(
        fmt::format("const %x: f32[1x0]\nconst %a: i64[1] = 1\n%y = {}(%x, %a)\n"
                    "output %y\n",
                    op));
  };
  EXPECT_THAT(reduce("ReduceSum"), ElementsAre(0));
  EXPECT_THAT(reduce("ReduceProd"), ElementsAre(1));
  EXPECT_THAT(reduce("ReduceL2"), ElementsAre(0));
  EXPECT_THAT(reduce("ReduceMax"), ElementsAre(-kInf));
  EXPECT_THAT(reduce("ReduceMin"), ElementsAre(kInf));
  EXPECT_THAT(reduce("ReduceLogSumExp"), ElementsAre(-kInf));
  EXPECT_THAT(reduce("ReduceLogSum"), ElementsAre(-kInf));
  EXPECT_THAT(reduce("ReduceMean"), ElementsAre(IsNan()));
  EXPECT_THAT(ElementsOf("const %x: i32[1x0]\nconst %a: i64[1] = 1\n%y = ReduceMax(%x, %a)\n"
                         "output %y\n"),
              ElementsAre(-2147483648.0));
}

TEST(Reductions, EmptyAxesReduceAllUnlessTheyAreANoOp) {
  const char* kText =
      "const %x: f32[2x2] = 1.0 2.0 3.0 4.0\nconst %a: i64[0]\n%y = ReduceSumSquare(%x, %a){}\n"
      "output %y\n";
  EXPECT_THAT(ElementsOf(fmt::format(fmt::runtime(kText), "")), ElementsAre(30));
  EXPECT_THAT(ElementsOf(fmt::format(fmt::runtime(kText), " {noop_with_empty_axes=1}")),
              ElementsAre(1, 4, 9, 16));
}

TEST(Reductions, LargeValuesDoNotOverflow) {
  EXPECT_THAT(ElementsOf("const %x: f32[2] = 1000.0 1000.0\n%y = ReduceLogSumExp(%x)\noutput %y\n"),
              ElementsAre(static_cast<float>(1000 + std::log(2.0))));
  EXPECT_THAT(ElementsOf("const %x: f32[2] = inf 1.0\n%y = ReduceLogSumExp(%x)\noutput %y\n"),
              ElementsAre(kInf));
}

TEST(Reductions, TiesOfArgMaxGoToTheFirstOrTheLast) {
  EXPECT_THAT(ElementsOf("const %x: f32[4] = 1.0 3.0 3.0 2.0\n%y = ArgMax(%x)\noutput %y\n"),
              ElementsAre(1));
  EXPECT_THAT(ElementsOf("const %x: f32[4] = 1.0 3.0 3.0 2.0\n"
                         "%y = ArgMax(%x) {select_last_index=1}\noutput %y\n"),
              ElementsAre(2));
}

TEST(Reductions, NanWinsArgMaxAndArgMin) {
  EXPECT_THAT(ElementsOf("const %x: f32[4] = 1.0 nan 3.0 nan\n%y = ArgMax(%x)\noutput %y\n"),
              ElementsAre(1));
  EXPECT_THAT(ElementsOf("const %x: f32[4] = nan 0.5 nan 3.0\n"
                         "%y = ArgMin(%x) {select_last_index=1}\noutput %y\n"),
              ElementsAre(2));
}

TEST(Softmax, InfinitiesAndLargeValues) {
  EXPECT_THAT(ElementsOf("const %x: f32[3] = -inf 0.0 0.0\n%y = Softmax(%x)\noutput %y\n"),
              ElementsAre(0, 0.5, 0.5));
  EXPECT_THAT(ElementsOf("const %x: f32[2] = 10000.0 -10000.0\n%y = LogSoftmax(%x)\noutput %y\n"),
              ElementsAre(0, -20000));
}

TEST(MatMul, EmptySumsAreZero) {
  EXPECT_THAT(ElementsOf("const %a: f32[1x0]\nconst %b: f32[0x2]\n%y = MatMul(%a, %b)\n"
                         "output %y\n"),
              ElementsAre(0, 0));
}

TEST(Quantise, HalvesGoToEvenInFp32) {
  // 0.35f / 0.1f is exactly 3.5 in fp32 and less in double.
  EXPECT_THAT(ElementsOf("const %x: f32[4] = 0.35 2.5 -2.5 9000.0\nconst %s: f32[] = 0.1\n"
                         "const %z: i8[] = 0\n%y = QuantizeLinear(%x, %s, %z)\noutput %y\n"),
              ElementsAre(4, 25, -25, 127));
}

TEST(Quantise, ZerosHaveADynamicScale) {
  EXPECT_THAT(ElementsOf("const %x: f32[2] = 0.0 0.0\n%y, %s, %z = DynamicQuantizeLinear(%x)\n"
                         "output %y\noutput %s\noutput %z\n"),
              ElementsAre(0, 0));
}

TEST(Inference, RefusesWhatDoesNotFit) {
  EXPECT_THAT(InferError("input %a: f32[2x3]\ninput %b: f32[2]\n%y = Add(%a, %b)\noutput %y\n"),
              HasSubstr("shapes 2x3 and 2 do not broadcast"));
  EXPECT_THAT(InferError("input %a: f32[2]\ninput %b: f16[2]\n%y = Add(%a, %b)\noutput %y\n"),
              HasSubstr("different types: f32 and f16"));
  EXPECT_THAT(InferError("input %a: i32[2]\n%y = Exp(%a)\noutput %y\n"),
              HasSubstr("type i32, expected floats"));
  EXPECT_THAT(InferError("input %a: f32[2x3]\ninput %b: f32[2x3]\n%y = MatMul(%a, %b)\n"
                         "output %y\n"),
              HasSubstr("do not multiply"));
  EXPECT_THAT(InferError("input %a: f32[2]\n%y = Softmax(%a) {axis=3}\noutput %y\n"),
              HasSubstr("axis 3 is out of range"));
  EXPECT_THAT(InferError("input %a: f32[2x3]\n%y = Einsum(%a) {equation=\"ijk->i\"}\noutput %y\n"),
              HasSubstr("does not fit the shape 2x3"));
  EXPECT_THAT(InferError("input %a: f32[2x3]\n%y = MatMul(_, %a)\noutput %y\n"),
              HasSubstr("input 0 is required"));
  EXPECT_THAT(InferError("input %a: f32[2x3]\n%y = Max(%a, _, %a)\noutput %y\n"),
              HasSubstr("input 1 is required"));
  EXPECT_THAT(InferError("input %a: f32[1048576]\n%y = Einsum(%a, %a, %a) "
                         "{equation=\"i,j,k->\"}\noutput %y\n"),
              HasSubstr("loops over 1048576x1048576x1048576"));
  EXPECT_THAT(InferError("input %a: f32[2x3]\n%y = Einsum(%a) {equation=\"ij->z\"}\noutput %y\n"),
              HasSubstr("output label"));
  EXPECT_THAT(InferError("input %x: f32[2x3x5x8]\nconst %c: f32[11x4]\nconst %s: f32[11x4]\n"
                         "input %p: i8[2x5]\n%y = RotaryEmbedding(%x, %c, %s, %p)\noutput %y\n"),
              HasSubstr("i8"));
}

TEST(Floats, ShrinkTakesTheFirstSideThatHolds) {
  EXPECT_THAT(ElementsOf("const %x: f32[3] = 0.25 1 -1\n"
                         "%y = Shrink(%x) {bias=0.25, lambd=-0.5}\noutput %y\n"),
              ElementsAre(0.5, 0.75, -0.75));
}

TEST(Inference, StatisticsOfDoublesAreFloats) {
  // ONNX knows them in no wider type, and has them in fp32 unless told otherwise.
  const std::vector<Tensor> outputs = EvaluateText(
      "const %x: f64[2x2] = 1 3 5 5\nconst %s: f64[2] = 1 1\n"
      "%y, %m, %i = LayerNormalization(%x, %s)\noutput %y\noutput %m\noutput %i\n");
  ASSERT_EQ(outputs.size(), 3u);
  EXPECT_EQ(outputs[0].dtype(), DType::kF64);
  EXPECT_EQ(outputs[1].dtype(), DType::kF32);
  EXPECT_EQ(outputs[2].dtype(), DType::kF32);
  EXPECT_EQ(outputs[1].view().GetDouble(1), 5);
}

}  // namespace
}  // namespace fettle::ops
