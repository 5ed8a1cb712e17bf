// Integer weights, bias correction and equalisation, by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "quantise/equalise.h"
#include "quantise/weight_grid.h"

namespace fettle::quantise {
namespace {

using testing::ElementsAre;
using testing::FloatEq;

constexpr WeightOptions kWhole = {.method = RangeMethod::kMinMax};

/// A Gemm with transB: rows are output channels.
Weights Rows(int64_t out, int64_t in, std::vector<float> values) {
  return {.shape = Shape{out, in}, .values = std::move(values), .out_axis = 0, .in_axis = 1};
}

TEST(QuantiseWeights, HasAScalePerOutputChannel) {
  const Weights weights = Rows(2, 3, {1.27f, -0.5f, 0.004f, 0, 12.7f, -0.1f});
  const IntegerWeights integers = QuantiseWeights(weights, {}, 1, kWhole);
  EXPECT_THAT(integers.scales, ElementsAre(FloatEq(0.01f), FloatEq(0.1f)));
  EXPECT_THAT(integers.values, ElementsAre(127, -50, 0, 0, 127, -1));
}

TEST(QuantiseWeights, FollowsTheAxisOfTheOutputs) {
  Weights columns = Rows(3, 2, {1.27f, 0, -0.5f, 12.7f, 0.004f, -0.1f});
  std::swap(columns.out_axis, columns.in_axis);
  const IntegerWeights integers = QuantiseWeights(columns, {}, 1, kWhole);
  EXPECT_THAT(integers.scales, ElementsAre(FloatEq(0.01f), FloatEq(0.1f)));
  EXPECT_THAT(integers.values, ElementsAre(127, 0, -50, 127, 0, -1));
}

TEST(QuantiseWeights, OfZerosAreZeros) {
  const IntegerWeights integers = QuantiseWeights(Rows(1, 2, {0, 0}), {}, 1, {});
  EXPECT_THAT(integers.scales, ElementsAre(1));
  EXPECT_THAT(integers.values, ElementsAre(0, 0));
}

TEST(QuantiseWeights, SevenBitsEndAt63) {
  const IntegerWeights integers = QuantiseWeights(Rows(1, 2, {0.63f, -0.63f}), {}, 1,
                                                  {.method = RangeMethod::kMinMax, .largest = 63});
  EXPECT_THAT(integers.values, ElementsAre(63, -63));
}

TEST(QuantiseWeights, LeastSquaresNeverLosesMore) {
  std::vector<float> values;
  for (int i = 0; i < 999; ++i) values.push_back(static_cast<float>(i % 37 - 18) / 100);
  values.push_back(0.4f);
  const Weights weights = Rows(1, 1000, values);
  const double whole = RelativeError(weights, QuantiseWeights(weights, {}, 1, kWhole));
  const double least = RelativeError(weights, QuantiseWeights(weights, {}, 1, {}));
  EXPECT_LE(least, whole);
  EXPECT_GT(whole, 0);
}

TEST(QuantiseWeights, LeavesTheBiasRoomIn32Bits) {
  const std::vector<float> bias = {1e6f};
  const IntegerWeights integers = QuantiseWeights(Rows(1, 1, {1e-6f}), bias, 1e-3f, kWhole);
  const std::vector<int32_t> units = QuantiseBias(bias, 1e-3f, integers.scales);
  EXPECT_LE(std::abs(units[0]), (1 << 30) + 64);
  EXPECT_NEAR(units[0] * 1e-3 * static_cast<double>(integers.scales[0]), 1e6, 1);
}

TEST(QuantiseBias, IsInUnitsOfBothScales) {
  EXPECT_THAT(QuantiseBias(std::vector<float>{0.5f, -0.25f}, 0.5f, std::vector<float>{0.25f, 0.5f}),
              ElementsAre(4, -1));
}

TEST(BiasCorrection, IsWhatRoundingAddsOnAverage) {
  // Row 0 rounds 0.004 to 0 and 0.996 to 1.00: with means 10 and 2 it says -0.04 + 0.008.
  const Weights weights = Rows(1, 3, {0.004f, 0.996f, 1.27f});
  const IntegerWeights integers = QuantiseWeights(weights, {}, 1, kWhole);
  ASSERT_THAT(integers.values, ElementsAre(0, 100, 127));
  const std::vector<double> means = {10, 2, 5};
  EXPECT_NEAR(ExpectedError(weights, integers, means)[0], -0.032f, 1e-5);
}

TEST(BiasCorrection, CountsInputChannelsOfGroups) {
  // Two groups of one channel each, as a depthwise convolution has.
  const Weights weights = {.shape = Shape{2, 1, 1, 2},
                           .values = {1.27f, 0.004f, 1.27f, 0.004f},
                           .out_axis = 0,
                           .in_axis = 1,
                           .groups = 2};
  const IntegerWeights integers = QuantiseWeights(weights, {}, 1, kWhole);
  const std::vector<float> errors = ExpectedError(weights, integers, std::vector<double>{100, 1});
  EXPECT_NEAR(errors[0], -0.4f, 1e-4);
  EXPECT_NEAR(errors[1], -0.004f, 1e-5);
}

TEST(Equalise, TakesTheGeometricMiddle) {
  // sqrt(8 / 2) = 2 and sqrt(2 / 8) = 0.5: their geometric mean is 1.
  EXPECT_THAT(EqualisingFactors(std::vector<double>{8, 2}, std::vector<double>{2, 8}),
              ElementsAre(2, 0.5));
}

TEST(Equalise, LeavesDeadChannelsAloneAndKeepsFactorsNear) {
  const std::vector<double> factors =
      EqualisingFactors(std::vector<double>{0, 1, 1e9, 1e-9}, std::vector<double>{1, 1, 1, 1});
  EXPECT_THAT(factors, ElementsAre(1, 1, 8, 0.125));
  EXPECT_THAT(EqualisingFactors(std::vector<double>{0}, std::vector<double>{0}), ElementsAre(1));
}

TEST(Equalise, RescalingKeepsWhatTheNetworkComputes) {
  Layer first, second;
  first.weights = Rows(2, 1, {4, 1});
  first.bias = {2, -1};
  second.weights = Rows(1, 2, {3, 5});
  const auto run = [&](double x) {
    double sum = 0;
    for (size_t c = 0; c < 2; ++c)
      sum += static_cast<double>(second.weights.values[c]) *
             std::max(0.0, static_cast<double>(first.weights.values[c]) * x +
                               static_cast<double>(first.bias[c]));
    return sum;
  };
  const double before = run(1.5);
  Rescale(std::vector<double>{2, 0.5}, first, second);
  EXPECT_THAT(first.weights.values, ElementsAre(2, 2));
  EXPECT_THAT(first.bias, ElementsAre(1, -2));
  EXPECT_THAT(second.weights.values, ElementsAre(6, 2.5f));
  EXPECT_DOUBLE_EQ(run(1.5), before);
  EXPECT_TRUE(first.rescaled && second.rescaled);
}

TEST(Statistics, AreOfChannelsAndFiniteValues) {
  ValueStatistics seen;
  seen.Observe(*Tensor::FromVector<float>(Shape{1, 2, 2}, {1, 3, -4, 0}));
  seen.Observe(*Tensor::FromVector<float>(Shape{1, 2, 1}, {5, INFINITY}));
  ASSERT_EQ(seen.channels.size(), 2u);
  EXPECT_EQ(seen.channels[0].mean(), 3);
  EXPECT_EQ(seen.channels[1].magnitude(), 4);
  EXPECT_EQ(seen.range(), (Range{-4, 5}));
  EXPECT_EQ(seen.nonfinite, 1);
}

}  // namespace
}  // namespace fettle::quantise
