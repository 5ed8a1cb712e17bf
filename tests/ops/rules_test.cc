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

constexpr char kMicrosoft[] = "com.microsoft";

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
