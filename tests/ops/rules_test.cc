// Import rules that the ONNX node tests do not reach: older opsets and com.microsoft.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/ops/rule_runner.h"

namespace fettle::ops {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;

MATCHER(Near, "") { return std::fabs(std::get<0>(arg) - std::get<1>(arg)) < 1e-5; }

Tensor Row(const std::vector<float>& values) {
  return Make<float>(Shape{1, static_cast<int64_t>(values.size())}, values);
}

TEST(Rules, ClipReadsAttributesBeforeOpset11) {
  EXPECT_THAT(Elements(RunRule({"Clip", "", 6, {{"min", 0.0}, {"max", 6.0}}, {Row({-1, 3, 9})}})),
              ElementsAre(0, 3, 6));
  EXPECT_THAT(Elements(RunRule({"Clip", "", 10, {{"max", 2.0}}, {Row({-1, 3})}})),
              ElementsAre(-1, 2));
}

TEST(Rules, SoftmaxFlattensBeforeOpset13) {
  const Tensor x = Make<float>(Shape{1, 2, 2}, {0, 0, 0, 0});
  EXPECT_THAT(Elements(RunRule({"Softmax", "", 11, {}, {x}})), ElementsAre(0.25, 0.25, 0.25, 0.25));
  EXPECT_THAT(Elements(RunRule({"Softmax", "", 13, {}, {x}})), ElementsAre(0.5, 0.5, 0.5, 0.5));
}

TEST(Rules, ReductionsReadAxesFromTheAttribute) {
  const Tensor x = Make<float>(Shape{2, 2}, {1, 2, 3, 4});
  const ir::Attributes attributes = {{"axes", std::vector<int64_t>{1}}, {"keepdims", int64_t{0}}};
  EXPECT_THAT(Elements(RunRule({"ReduceSum", "", 11, attributes, {x}})), ElementsAre(3, 7));
  EXPECT_THAT(Elements(RunRule({"ReduceMean", "", 17, attributes, {x}})), ElementsAre(1.5, 3.5));
}

TEST(Rules, PReluOfChannelsBeforeOpset7) {
  const Tensor x = Make<float>(Shape{1, 2, 2}, {-1, -1, -1, 1});
  EXPECT_THAT(Elements(RunRule({"PRelu", "", 6, {}, {x, Make<float>(Shape{2}, {2, 3})}})),
              ElementsAre(-2, -2, -3, 1));
}

TEST(Rules, GeluFamily) {
  const std::vector<float> x = {-2, -0.5, 0, 1, 3};
  std::vector<double> exact, tanh, quick;
  for (double v : x) {
    exact.push_back(0.5 * v * (1 + std::erf(v / std::sqrt(2.0))));
    tanh.push_back(0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v))));
    quick.push_back(v / (1 + std::exp(-1.702 * v)));
  }
  const Tensor zeros = Make<float>(Shape{5}, {0, 0, 0, 0, 0});
  EXPECT_THAT(Elements(RunRule({"Gelu", kMicrosoft, 1, {}, {Row(x)}})), Pointwise(Near(), exact));
  EXPECT_THAT(Elements(RunRule({"BiasGelu", kMicrosoft, 1, {}, {Row(x), zeros}})),
              Pointwise(Near(), exact));
  EXPECT_THAT(Elements(RunRule({"FastGelu", kMicrosoft, 1, {}, {Row(x)}})),
              Pointwise(Near(), tanh));
  EXPECT_THAT(Elements(RunRule({"QuickGelu", kMicrosoft, 1, {}, {Row(x)}})),
              Pointwise(Near(), quick));
}

TEST(Rules, FusedMatMulTransposesAndScales) {
  const Tensor a = Make<float>(Shape{2, 2}, {1, 2, 3, 4}), b = Make<float>(Shape{2, 1}, {1, 10});
  EXPECT_THAT(
      Elements(RunRule(
          {"FusedMatMul", kMicrosoft, 1, {{"transA", int64_t{1}}, {"alpha", 0.5}}, {a, b}})),
      ElementsAre(15.5, 21));
}

TEST(Rules, FusedMatMulMovesTheFirstAxisBehindTheBatch) {
  const Tensor a = Make<float>(Shape{2, 3, 1}, {1, 2, 3, 4, 5, 6});  // [m, batch, k]
  const Tensor b = Make<float>(Shape{3, 1, 1}, {1, 10, 100});
  EXPECT_THAT(
      Elements(RunRule({"FusedMatMul", kMicrosoft, 1, {{"transBatchA", int64_t{1}}}, {a, b}})),
      ElementsAre(1, 4, 20, 50, 300, 600));
}

TEST(Rules, ContribMovesAndInverse) {
  const Tensor x = Make<float>(Shape{2}, {1, 2});
  const auto expanded =
      RunRule({"ExpandDims", kMicrosoft, 1, {}, {x, Make<int32_t>(Shape{}, {-1})}});
  ASSERT_TRUE(expanded.ok()) << expanded.status().message();
  EXPECT_EQ((*expanded)[0].shape(), (Shape{2, 1}));
  EXPECT_THAT(Elements(RunRule(
                  {"Pad", kMicrosoft, 1, {}, {x, Make<int64_t>(Shape{1, 2}, {1, 0}), Scalar(7)}})),
              ElementsAre(7, 1, 2));
  EXPECT_THAT(
      Elements(RunRule({"Inverse", kMicrosoft, 1, {}, {Make<float>(Shape{2, 2}, {0, 2, 4, 0})}})),
      ElementsAre(0, 0.25, 0.5, 0));
  EXPECT_THAT(RunRule({"Inverse", kMicrosoft, 1, {}, {Make<float>(Shape{2, 2}, {1, 2, 2, 4})}})
                  .status()
                  .message(),
              HasSubstr("matrix 0 has no inverse"));
}

TEST(Rules, ContribAttentionSeesWhatItsMaskSays) {
  // One head of one element: x is query, key and value. With one key seen, that is the answer.
  const Tensor x = Make<float>(Shape{1, 2, 1}, {3, 5}), w = Make<float>(Shape{1, 3}, {1, 1, 1});
  const Tensor bias = Make<float>(Shape{3}, {0, 0, 1});
  const ir::Attributes one = {{"num_heads", int64_t{1}}};
  for (const Tensor& mask : {Make<int32_t>(Shape{1}, {1}), Make<int32_t>(Shape{1, 2}, {1, 0})}) {
    EXPECT_THAT(Elements(RunRule({"Attention", kMicrosoft, 1, one, {x, w, bias, mask}})),
                ElementsAre(4, 4));
  }
  const Tensor range = Make<int32_t>(Shape{2}, {2, 1});  // keys [1, 2)
  EXPECT_THAT(Elements(RunRule({"Attention", kMicrosoft, 1, one, {x, w, bias, range}})),
              ElementsAre(6, 6));
  EXPECT_THAT(Elements(RunRule(
                  {"QAttention",
                   kMicrosoft,
                   1,
                   one,
                   {Make<uint8_t>(Shape{1, 2, 1}, {3, 5}), Make<int8_t>(Shape{1, 3}, {1, 1, 1}),
                    bias, Scalar(1), Scalar(1), Make<int32_t>(Shape{1}, {1})}})),
              ElementsAre(4, 4));
}

TEST(Rules, EmbeddingsAreSummedAndNormalised) {
  const Tensor ids = Make<int32_t>(Shape{1, 2}, {1, 0}), mask = Make<int32_t>(Shape{1, 2}, {1, 0});
  const Tensor words = Make<float>(Shape{2, 2}, {0, 2, 4, 8});
  const Tensor positions = Make<float>(Shape{3, 2}, {0, 0, 1, 3, 9, 9});
  const Tensor ones = Make<float>(Shape{2}, {1, 1}), zeros = Make<float>(Shape{2}, {0, 0});
  const Result<std::vector<Tensor>> y =
      RunRule({"EmbedLayerNormalization",
               kMicrosoft,
               1,
               {},
               {ids, Tensor(), words, positions, Tensor(), ones, zeros, mask},
               3});
  EXPECT_THAT(Elements(y), ElementsAre(-1, 1, -1, 1));
  EXPECT_THAT(Elements(y, 1), ElementsAre(1));
  EXPECT_THAT(Elements(y, 2), ElementsAre(4, 8, 1, 5));
  // Without ids of segments all are of the first.
  const Tensor segments = Make<float>(Shape{2, 2}, {10, 0, 99, 99});
  EXPECT_THAT(Elements(RunRule({"EmbedLayerNormalization",
                                kMicrosoft,
                                1,
                                {},
                                {ids, Tensor(), words, positions, segments, ones, zeros, mask},
                                3}),
                       2),
              ElementsAre(14, 8, 11, 5));
}

TEST(Rules, FormsOfTheFirstOpsets) {
  const Tensor x = Make<float>(Shape{1, 4}, {1, 2, 3, 4});
  const auto halves = RunRule({"Split", "", 1, {{"axis", int64_t{1}}}, {x}, 2});
  EXPECT_THAT(Elements(halves, 1), ElementsAre(3, 4));
  const auto sized =
      RunRule({"Split", "", 1, {{"axis", int64_t{1}}}, {x, Make<float>(Shape{2}, {1, 3})}, 2});
  EXPECT_THAT(Elements(sized, 1), ElementsAre(2, 3, 4));
  for (int opset : {1, 6}) {
    EXPECT_THAT(Elements(RunRule({"Dropout", "", opset, {{"ratio", 0.5}}, {x}})),
                ElementsAre(1, 2, 3, 4));
  }
  const auto joined = RunRule({"Concat", "", 1, {}, {x, x}});
  ASSERT_TRUE(joined.ok()) << joined.status().message();
  EXPECT_EQ((*joined)[0].shape(), (Shape{1, 8}));
  const auto reshaped = RunRule({"Reshape", "", 1, {{"shape", std::vector<int64_t>{2, -1}}}, {x}});
  ASSERT_TRUE(reshaped.ok()) << reshaped.status().message();
  EXPECT_EQ((*reshaped)[0].shape(), (Shape{2, 2}));
  EXPECT_THAT(Elements(RunRule({"Tile", "", 1, {}, {x, Scalar(2), Scalar(0)}})),
              ElementsAre(1, 2, 3, 4, 1, 2, 3, 4));
  EXPECT_THAT(Elements(RunRule({"Cast", "", 1, {{"to", std::string("INT32")}}, {Row({1.5f})}})),
              ElementsAre(1));
}

TEST(Rules, CastSaysWhatIsWrongWithItsType) {
  const auto failure = [](const ir::Attributes& attributes) {
    return RunRule({"Cast", "", 13, attributes, {Row({1})}}).status().message();
  };
  EXPECT_THAT(failure({}), HasSubstr("attribute 'to' is missing"));
  EXPECT_THAT(failure({{"to", int64_t{99}}}), HasSubstr("element type 99 is not one of ONNX"));
  EXPECT_THAT(failure({{"to", int64_t{25}}}), HasSubstr("element type UINT2 is not supported"));
  EXPECT_THAT(failure({{"to", std::string("FLAOT")}}), HasSubstr("'FLAOT' is not one of ONNX"));
}

TEST(Rules, SwiGluGatesItsSecondOperand) {
  const auto y = RunRule({"SwiGLU", "", 28, {{"alpha", 2.0}}, {Row({0, 1}), Row({5, 3})}});
  EXPECT_THAT(Elements(y), Pointwise(Near(), std::vector<double>{0, 3 / (1 + std::exp(-2.0))}));
}

TEST(Rules, CausalConvContinuesItsState) {
  const Tensor x = Make<float>(Shape{1, 1, 2}, {3, 4}),
               w = Make<float>(Shape{1, 1, 3}, {100, 10, 1});
  const auto first = RunRule({"CausalConvWithState", "", 27, {}, {x, w}, 2});
  EXPECT_THAT(Elements(first), ElementsAre(3, 34));
  EXPECT_THAT(Elements(first, 1), ElementsAre(3, 4));
  const Tensor one = Make<float>(Shape{1, 1, 1}, {5}), past = Make<float>(Shape{1, 1, 2}, {3, 4});
  const auto next = RunRule({"CausalConvWithState", "", 27, {}, {one, w, Tensor(), past}, 2});
  EXPECT_THAT(Elements(next), ElementsAre(345));
  EXPECT_THAT(Elements(next, 1), ElementsAre(4, 5));
}

TEST(Rules, CausalConvRefusesStatesOfOtherLengths) {
  const Tensor one = Make<float>(Shape{1, 1, 1}, {5});
  for (const Tensor& w : {Make<float>(Shape{1, 1, 3}, {100, 10, 1}), one}) {
    const auto y = RunRule({"CausalConvWithState",
                            "",
                            27,
                            {},
                            {one, w, Tensor(), Make<float>(Shape{1, 1, 1}, {3})},
                            2});
    EXPECT_FALSE(y.ok()) << w.shape().ToString();
  }
}

TEST(Rules, TheInverseTransformIsExact) {
  // 0, 1 ... 99 forward and back: within 1e-7 of where it started, relative to the largest.
  std::vector<float> ramp;
  for (int i = 0; i < 100; ++i) ramp.push_back(static_cast<float>(i));
  const Tensor x = Make<float>(Shape{1, 100, 1}, ramp), axis = Make<int64_t>(Shape{}, {1});
  const auto there = RunRule({"DFT", "", 20, {}, {x, Tensor(), axis}});
  ASSERT_TRUE(there.ok()) << there.status().message();
  const std::vector<double> back =
      Elements(RunRule({"DFT", "", 20, {{"inverse", int64_t{1}}}, {(*there)[0], Tensor(), axis}}));
  ASSERT_EQ(back.size(), 200u);
  for (size_t i = 0; i < 100; ++i) {
    EXPECT_NEAR(back[2 * i], ramp[i], 1e-7 * 99);
    EXPECT_NEAR(back[2 * i + 1], 0, 1e-7 * 99);
  }
}

TEST(Rules, SignedShiftsAndRemainders) {
  const Tensor a = Make<int8_t>(Shape{4}, {-8, 100, -1, 5});
  const Tensor b = Make<int8_t>(Shape{4}, {1, 1, 9, -1});
  EXPECT_THAT(Elements(RunRule({"BitShift", "", 28, {{"direction", std::string("LEFT")}}, {a, b}})),
              ElementsAre(-16, -56, 0, 0));
  EXPECT_THAT(
      Elements(RunRule({"BitShift", "", 28, {{"direction", std::string("RIGHT")}}, {a, b}})),
      ElementsAre(-4, 50, -1, 0));
  const auto y =
      RunRule({"Mod", "", 28, {}, {Row({-0.0f, -7, 3, -3}), Row({3, 3, -INFINITY, INFINITY})}});
  EXPECT_THAT(Elements(y), ElementsAre(0, 2, -INFINITY, INFINITY));
  EXPECT_FALSE(std::signbit(Elements(y)[0]));
}

TEST(Rules, FusedGemmActivates) {
  const ir::Attributes attributes = {{"activation", std::string("LeakyRelu")},
                                     {"activation_alpha", 0.5}};
  EXPECT_THAT(Elements(RunRule({"FusedGemm",
                                kMicrosoft,
                                1,
                                attributes,
                                {Row({1, -2}), Make<float>(Shape{2, 1}, {1, 2})}})),
              ElementsAre(-1.5));
  EXPECT_THAT(RunRule({"FusedGemm",
                       kMicrosoft,
                       1,
                       {{"activation", std::string("Nonsense")}},
                       {Row({1, -2}), Make<float>(Shape{2, 1}, {1, 2})}})
                  .status()
                  .message(),
              HasSubstr("'Nonsense' is not supported"));
}

TEST(Rules, SkipLayerNormalizationAddsFirst) {
  const Result<std::vector<Tensor>> outputs =
      RunRule({"SkipLayerNormalization",
               kMicrosoft,
               1,
               {},
               {Row({1, 2}), Row({2, 5}), Make<float>(Shape{2}, {1, 2}),
                Make<float>(Shape{2}, {0, 1}), Make<float>(Shape{2}, {0, 1})},
               1});
  // The sum is 3, 8: mean 5.5, deviation 2.5.
  EXPECT_THAT(Elements(outputs), ElementsAre(DoubleNear(-1, 1e-5), DoubleNear(3, 1e-5)));
}

TEST(Rules, SimplifiedLayerNormalizationHasNoMean) {
  EXPECT_THAT(Elements(RunRule({"SimplifiedLayerNormalization",
                                "",
                                1,
                                {{"epsilon", 0.0}},
                                {Row({3, 4}), Make<float>(Shape{2}, {1, 1})}})),
              Pointwise(Near(), {3 / std::sqrt(12.5), 4 / std::sqrt(12.5)}));
}

TEST(Rules, GroupNormalization18RepeatsScales) {
  const Tensor x = Make<float>(Shape{1, 4, 1}, {1, 3, 10, 30});
  EXPECT_THAT(
      Elements(RunRule({"GroupNormalization",
                        "",
                        18,
                        {{"num_groups", int64_t{2}}, {"epsilon", 0.0}},
                        {x, Make<float>(Shape{2}, {1, 2}), Make<float>(Shape{2}, {0, 5})}})),
      Pointwise(Near(), {-1.0, 1.0, 3.0, 7.0}));
}

TEST(Rules, SoftmaxCrossEntropyGivesLogProbabilities) {
  const Tensor x = Make<float>(Shape{1, 2}, {0, 0});
  const Result<std::vector<Tensor>> outputs =
      RunRule({"SoftmaxCrossEntropyLoss", "", 13, {}, {x, Make<int64_t>(Shape{1}, {1})}, 2});
  EXPECT_THAT(Elements(outputs), Pointwise(Near(), {std::log(2.0)}));
  EXPECT_THAT(Elements(outputs, 1), Pointwise(Near(), {-std::log(2.0), -std::log(2.0)}));
}

TEST(Rules, UnknownOperatorsAndOpsetsAreRefused) {
  EXPECT_EQ(RunRule({"Nonsense", "", 13, {}, {Row({1})}}).status().code(),
            StatusCode::kUnsupported);
  EXPECT_THAT(RunRule({"Attention", "", 22, {}, {Row({1})}}).status().message(),
              HasSubstr("from opset 23 on"));
}

}  // namespace
}  // namespace fettle::ops
