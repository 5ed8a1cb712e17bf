// Rules of random numbers: their distributions, and that the same node makes the same numbers.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "rule_runner.h"

namespace fettle::ops {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Lt;

double Mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double Deviation(const std::vector<double>& values) {
  double sum = 0;
  for (double value : values) sum += (value - Mean(values)) * (value - Mean(values));
  return std::sqrt(sum / static_cast<double>(values.size()));
}

const ir::Attribute kShape = std::vector<int64_t>{100, 50};

TEST(RandomRules, UniformNumbersFillTheirRange) {
  const auto drawn = Elements(
      RunRule({"RandomUniform", "", 1, {{"shape", kShape}, {"low", -2.0}, {"high", 4.0}}, {}}));
  ASSERT_EQ(drawn.size(), 5000u);
  EXPECT_THAT(drawn, Each(AllOf(Ge(-2), Lt(4))));
  EXPECT_NEAR(Mean(drawn), 1, 0.1);
  EXPECT_NEAR(Deviation(drawn), 6 / std::sqrt(12.0), 0.05);
}

TEST(RandomRules, NormalNumbersHaveTheirMeanAndScale) {
  const Tensor like = Make<float>(Shape{5000}, std::vector<float>(5000));
  const auto drawn =
      Elements(RunRule({"RandomNormalLike", "", 1, {{"mean", 3.0}, {"scale", 2.0}}, {like}}));
  EXPECT_NEAR(Mean(drawn), 3, 0.1);
  EXPECT_NEAR(Deviation(drawn), 2, 0.06);
  const auto far = std::ranges::count_if(drawn, [](double x) { return std::abs(x - 3) > 4; });
  EXPECT_NEAR(static_cast<double>(far) / 5000, 0.0455, 0.012);
}

TEST(RandomRules, ASeedIsASequence) {
  const auto drawn = [](ir::Attributes attributes) {
    attributes.Set("shape", std::get<std::vector<int64_t>>(kShape));
    return Elements(RunRule({"RandomUniform", "", 1, attributes, {}}));
  };
  EXPECT_EQ(drawn({{"seed", 1.5}}), drawn({{"seed", 1.5}}));
  EXPECT_EQ(drawn({}), drawn({}));
  EXPECT_NE(drawn({{"seed", 1.5}}), drawn({{"seed", 2.5}}));
  EXPECT_NE(drawn({{"seed", 1.5}}), drawn({}));
}

TEST(RandomRules, TypesAreThoseOfTheAttributeOrTheInput) {
  const Tensor like = Make<double>(Shape{2}, {0, 0});
  const auto type = [&](ir::Attributes attributes) {
    const auto y = RunRule({"RandomUniformLike", "", 1, attributes, {like}});
    return y.ok() ? (*y)[0].dtype() : DType::kBool;
  };
  EXPECT_EQ(type({}), DType::kF64);
  EXPECT_EQ(type({{"dtype", int64_t{1}}}), DType::kF32);
  EXPECT_EQ(type({{"dtype", int64_t{10}}}), DType::kF16);
}

TEST(RandomRules, BernoulliTakesChances) {
  std::vector<float> chances(4000, 0.25f);
  std::fill(chances.begin(), chances.begin() + 1000, 0.0f);
  std::fill(chances.begin() + 1000, chances.begin() + 2000, 1.0f);
  const auto drawn = Elements(RunRule({"Bernoulli", "", 15, {}, {Make<float>({4000}, chances)}}));
  EXPECT_EQ(std::count(drawn.begin(), drawn.begin() + 1000, 0), 1000);
  EXPECT_EQ(std::count(drawn.begin() + 1000, drawn.begin() + 2000, 1), 1000);
  EXPECT_NEAR(Mean({drawn.begin() + 2000, drawn.end()}), 0.25, 0.04);
}

TEST(RandomRules, MultinomialTakesLogarithmsOfChances) {
  const Tensor logits = Make<float>(Shape{2, 3}, {0, std::log(3.0f), -100, 50, 0, 0});
  const auto drawn = RunRule({"Multinomial", "", 7, {{"sample_size", int64_t{4000}}}, {logits}});
  const std::vector<double> classes = Elements(drawn);
  ASSERT_EQ((*drawn)[0].shape(), (Shape{2, 4000}));
  EXPECT_EQ((*drawn)[0].dtype(), DType::kI32);
  EXPECT_NEAR(static_cast<double>(std::count(classes.begin(), classes.begin() + 4000, 1)), 3000,
              120);
  EXPECT_EQ(std::count(classes.begin(), classes.begin() + 4000, 2), 0);
  EXPECT_EQ(std::count(classes.begin() + 4000, classes.end(), 0), 4000);
}

TEST(RandomRules, DropoutInTrainingKeepsAShareScaledUp) {
  const Tensor x = Make<float>(Shape{4000}, std::vector<float>(4000, 3));
  const Tensor yes = Make<bool>(Shape{}, {true}), no = Make<bool>(Shape{}, {false});
  const auto y = RunRule({"Dropout", "", 13, {}, {x, Scalar(0.75f), yes}, 2});
  const std::vector<double> kept = Elements(y), mask = Elements(y, 1);
  EXPECT_NEAR(Mean(mask), 0.25, 0.04);
  for (size_t i = 0; i < kept.size(); ++i) ASSERT_EQ(kept[i], mask[i] * 12) << i;
  EXPECT_THAT(Elements(RunRule({"Dropout", "", 13, {}, {x, Scalar(1), yes}})), Each(0));
  EXPECT_THAT(Elements(RunRule({"Dropout", "", 13, {}, {x, Scalar(0.75f), no}})), Each(3));
}

TEST(RandomRules, ShapesThatAreNoneAreRefused) {
  const ir::Attribute shape = std::vector<int64_t>{3, -1};
  EXPECT_THAT(RunRule({"RandomNormal", "", 1, {{"shape", shape}}, {}}).status().message(),
              HasSubstr("extent -1 is negative"));
}

}  // namespace
}  // namespace fettle::ops
