// Import rules of operators on quantised operands, against sums worked out by hand.
#include <gmock/gmock.h>

#include "tests/ops/rule_runner.h"

namespace fettle::ops {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor Bytes(const Shape& shape, const std::vector<uint8_t>& values) { return Make(shape, values); }
Tensor Zero(uint8_t value) { return Bytes(Shape{}, {value}); }

TEST(QuantisedRules, AddTakesThreeScales) {
  // (12 - 10) * 0.5 + (4 - 0) * 0.25 = 2, in steps of 0.1 around 100.
  EXPECT_THAT(
      Elements(RunRule({"QLinearAdd",
                        kMicrosoft,
                        1,
                        {},
                        {Bytes(Shape{1}, {12}), Scalar(0.5f), Zero(10), Bytes(Shape{1}, {4}),
                         Scalar(0.25f), Zero(0), Scalar(0.125f), Zero(100)}})),
      ElementsAre(116));
}

TEST(QuantisedRules, MulSaturates) {
  EXPECT_THAT(Elements(RunRule({"QLinearMul",
                                kMicrosoft,
                                1,
                                {},
                                {Bytes(Shape{2}, {200, 1}), Scalar(1), Zero(0),
                                 Bytes(Shape{1}, {2}), Scalar(1), Zero(0), Scalar(1), Zero(0)}})),
              ElementsAre(255, 2));
}

TEST(QuantisedRules, ResultsWithoutAZeroPointHaveTheOperandsType) {
  const Tensor x = Make<int8_t>(Shape{2}, {-4, 6}), zero = Make<int8_t>(Shape{}, {0});
  const auto unary = RunRule(
      {"QLinearLeakyRelu", kMicrosoft, 1, {{"alpha", 0.5}}, {x, Scalar(1), zero, Scalar(1)}});
  EXPECT_THAT(Elements(unary), ElementsAre(-2, 6));
  EXPECT_EQ((*unary)[0].dtype(), DType::kI8);
  const auto binary = RunRule(
      {"QLinearAdd", kMicrosoft, 1, {}, {x, Scalar(1), zero, x, Scalar(1), zero, Scalar(2)}});
  EXPECT_THAT(Elements(binary), ElementsAre(-4, 6));
  EXPECT_EQ((*binary)[0].dtype(), DType::kI8);
  // But for QGemm, whose result stays in f32.
  const Tensor a = Make<int8_t>(Shape{1, 1}, {3});
  const auto product = RunRule(
      {"QGemm", kMicrosoft, 1, {}, {a, Scalar(1), zero, a, Scalar(1), zero, Tensor(), Scalar(2)}});
  EXPECT_THAT(Elements(product), ElementsAre(9));
  EXPECT_EQ((*product)[0].dtype(), DType::kF32);
}

/// Each channel of rank 2 to 4, first or last, has its own threshold.
TEST(QuantisedRules, ThresholdsOfChannels) {
  constexpr std::string_view kQonnx = "qonnx.custom_op.general";
  const Tensor thresholds = Make<float>(Shape{2, 1}, {1, 3});
  const auto run = [&](const Shape& shape, const std::string& layout) {
    const Tensor x = Make<float>(shape, {0, 1, 2, 3});
    return Elements(
        RunRule({"MultiThreshold", kQonnx, 1, {{"data_layout", layout}}, {x, thresholds}}));
  };
  for (const Shape& first : {Shape{2, 2}, Shape{2, 2, 1}, Shape{2, 2, 1, 1}})
    EXPECT_THAT(run(first, "NCHW"), ElementsAre(0, 0, 1, 1)) << first.ToString();
  for (const Shape& first : {Shape{1, 2, 2}, Shape{1, 2, 2, 1}, Shape{1, 2, 1, 2}})
    EXPECT_THAT(run(first, "NCHW"), ElementsAre(0, 1, 0, 1)) << first.ToString();
  EXPECT_THAT(run(Shape{2, 2}, "NC"), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(run(Shape{1, 2, 2}, "NWC"), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(run(Shape{1, 1, 2, 2}, "NHWC"), ElementsAre(0, 0, 1, 1));
}

TEST(QuantisedRules, ConcatBringsPartsToOneScale) {
  EXPECT_THAT(Elements(RunRule({"QLinearConcat",
                                kMicrosoft,
                                1,
                                {{"axis", int64_t{0}}},
                                {Scalar(0.5f), Zero(1), Bytes(Shape{1}, {3}), Scalar(1), Zero(0),
                                 Bytes(Shape{2}, {4, 6}), Scalar(0.25f), Zero(2)}})),
              ElementsAre(7, 2, 3));
}

TEST(QuantisedRules, LeakyReluKeepsItsSlope) {
  EXPECT_THAT(
      Elements(RunRule({"QLinearLeakyRelu",
                        kMicrosoft,
                        1,
                        {{"alpha", 0.5}},
                        {Bytes(Shape{2}, {96, 104}), Scalar(1), Zero(100), Scalar(1), Zero(50)}})),
      ElementsAre(48, 54));
}

TEST(QuantisedRules, GlobalAveragePoolAverages) {
  EXPECT_THAT(Elements(RunRule({"QLinearGlobalAveragePool",
                                kMicrosoft,
                                1,
                                {},
                                {Bytes(Shape{1, 1, 2, 2}, {1, 3, 5, 7}), Scalar(1), Zero(0),
                                 Scalar(0.5f), Zero(0)}})),
              ElementsAre(8));
}

TEST(QuantisedRules, ChannelsMayComeLast) {
  EXPECT_THAT(Elements(RunRule({"QLinearGlobalAveragePool",
                                kMicrosoft,
                                1,
                                {{"channels_last", int64_t{1}}},
                                {Bytes(Shape{1, 2, 2, 2}, {1, 10, 3, 30, 5, 50, 7, 70}), Scalar(1),
                                 Zero(0), Scalar(0.5f), Zero(0)}})),
              ElementsAre(8, 80));
  // One pixel of two channels; each output channel weighs them.
  const RuleInput conv = {
      "QLinearConv",
      kMicrosoft,
      1,
      {{"channels_last", int64_t{1}}, {"kernel_shape", std::vector<int64_t>{1, 1}}},
      {Bytes(Shape{1, 1, 2, 2}, {1, 2, 3, 4}), Scalar(1), Zero(0),
       Make<int8_t>(Shape{2, 2, 1, 1}, {1, 10, 0, 1}), Scalar(1), Make<int8_t>(Shape{}, {0}),
       Scalar(1), Zero(0)}};
  const Result<std::vector<Tensor>> y = RunRule(conv);
  EXPECT_THAT(Elements(y), ElementsAre(21, 2, 43, 4));
  EXPECT_EQ((*y)[0].shape(), (Shape{1, 1, 2, 2}));
  EXPECT_THAT(Elements(RunRule({"NhwcMaxPool",
                                kMicrosoft,
                                1,
                                {{"kernel_shape", std::vector<int64_t>{1, 2}}},
                                {Bytes(Shape{1, 1, 2, 2}, {1, 9, 3, 4})}})),
              ElementsAre(3, 9));
}

TEST(QuantisedRules, IntegerProductsToFloat) {
  // ((3 - 1) * 2 + (6 - 1) * 1) * 0.5 * 2 + 1.
  EXPECT_THAT(Elements(RunRule(
                  {"MatMulIntegerToFloat",
                   kMicrosoft,
                   1,
                   {},
                   {Bytes(Shape{1, 2}, {3, 6}), Make<int8_t>(Shape{2, 1}, {2, 1}), Scalar(0.5f),
                    Make<float>(Shape{1}, {2}), Zero(1), Tensor(), Make<float>(Shape{1}, {1})}})),
              ElementsAre(10));
  // A spans 0 to 255, which 8 bits hold exactly.
  EXPECT_THAT(
      Elements(RunRule({"DynamicQuantizeMatMul",
                        kMicrosoft,
                        1,
                        {},
                        {Make<float>(Shape{1, 2}, {255, 3}), Make<int8_t>(Shape{2, 1}, {1, -2}),
                         Scalar(2), Make<int8_t>(Shape{}, {0})}})),
      ElementsAre(498));
}

TEST(QuantisedRules, MatMulNBitsOfTwoBits) {
  const Tensor a = Make<float>(Shape{1, 5}, {1, 1, 1, 1, 1});
  const Tensor packed = Bytes(Shape{1, 2, 1}, {0b11100100, 0b00000011});  // 0 1 2 3, 3
  const Tensor scales = Make<float>(Shape{2}, {1, 10});
  const ir::Attributes attributes = {
      {"N", int64_t{1}}, {"K", int64_t{5}}, {"bits", int64_t{2}}, {"block_size", int64_t{4}}};
  // Around 2: -2 -1 0 1, then 1 * 10.
  EXPECT_THAT(Elements(RunRule({"MatMulNBits", kMicrosoft, 1, attributes, {a, packed, scales}})),
              ElementsAre(8));
  const Tensor zeros = Bytes(Shape{1}, {0b0100});  // 0, 1
  EXPECT_THAT(
      Elements(RunRule({"MatMulNBits", kMicrosoft, 1, attributes, {a, packed, scales, zeros}})),
      ElementsAre(26));
}

TEST(QuantisedRules, GemmTakesABiasInTheScaleOfTheProducts) {
  // ((3 - 1) * 2 + 5 * 1) * 0.5 + 4 * 0.5 = 6.5 without quantising the result.
  const RuleInput input = {
      "QGemm",
      kMicrosoft,
      1,
      {{"transB", int64_t{1}}},
      {Bytes(Shape{1, 2}, {3, 6}), Scalar(0.5f), Zero(1), Make<int8_t>(Shape{1, 2}, {2, 1}),
       Scalar(1), Make<int8_t>(Shape{}, {0}), Make<int32_t>(Shape{1}, {4})}};
  EXPECT_THAT(Elements(RunRule(input)), ElementsAre(6.5));
  RuleInput quantised = input;
  quantised.inputs.push_back(Scalar(0.5f));
  quantised.inputs.push_back(Zero(3));
  EXPECT_THAT(Elements(RunRule(quantised)), ElementsAre(16));
}

TEST(QuantisedRules, ConvAddsAnInt32Bias) {
  const Result<std::vector<Tensor>> y = RunRule(
      {"QLinearConv",
       "",
       10,
       {},
       {Bytes(Shape{1, 1, 1, 2}, {4, 6}), Scalar(0.5f), Zero(2),
        Make<int8_t>(Shape{2, 1, 1, 1}, {1, -1}), Make<float>(Shape{2}, {1, 2}),
        Make<int8_t>(Shape{2}, {0, 0}), Scalar(0.5f), Zero(10), Make<int32_t>(Shape{2}, {2, 3})}});
  // Channel 0: (1, 2) * 1 + 1; channel 1: (1, 2) * -2 + 3.
  EXPECT_THAT(Elements(y), ElementsAre(14, 16, 12, 8));
}

TEST(QuantisedRules, MatMulNBitsUnpacksNibblesByBlocks) {
  // Two columns of K = 3 in blocks of 2; the low nibble comes first and 8 is zero.
  const Tensor a = Make<float>(Shape{1, 3}, {1, 1, 1});
  const Tensor packed = Bytes(Shape{2, 2, 1}, {0xA9, 0x0B, 0x77, 0x06});
  const Tensor scales = Make<float>(Shape{4}, {1, 10, 2, 0.5f});
  const ir::Attributes attributes = {
      {"N", int64_t{2}}, {"K", int64_t{3}}, {"bits", int64_t{4}}, {"block_size", int64_t{2}}};
  // (9 - 8) + (10 - 8) + (11 - 8) * 10 = 33; (7 - 8) * 2 * 2 + (6 - 8) * 0.5 = -5.
  EXPECT_THAT(Elements(RunRule({"MatMulNBits", kMicrosoft, 1, attributes, {a, packed, scales}})),
              ElementsAre(33, -5));
  const Tensor zeros = Bytes(Shape{2}, {0x98, 0x88});  // 8, 9 for column 0
  EXPECT_THAT(
      Elements(RunRule({"MatMulNBits", kMicrosoft, 1, attributes, {a, packed, scales, zeros}})),
      ElementsAre(23, -5));
}

TEST(QuantisedRules, MatMulNBitsRefusesSizesThatDoNotFit) {
  const ir::Attributes attributes = {
      {"N", int64_t{2}}, {"K", int64_t{3}}, {"bits", int64_t{4}}, {"block_size", int64_t{2}}};
  EXPECT_THAT(RunRule({"MatMulNBits",
                       kMicrosoft,
                       1,
                       attributes,
                       {Make<float>(Shape{1, 3}, {1, 1, 1}), Bytes(Shape{3}, {1, 2, 3}),
                        Make<float>(Shape{4}, {1, 1, 1, 1})}})
                  .status()
                  .message(),
              HasSubstr("expected 4 bytes"));
}

}  // namespace
}  // namespace fettle::ops
