// Ranges and grids, by hand.
#include "quantise/range.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fettle::quantise {
namespace {

Histogram Of(Range range, const std::vector<float>& values) {
  Histogram histogram(range);
  histogram.Add(values);
  return histogram;
}

TEST(Grid, IsOverTheRangeAndHoldsZero) {
  const Grid relu = GridOver({0, 5.1}, DType::kU8);
  EXPECT_FLOAT_EQ(relu.scale, 0.02f);
  EXPECT_EQ(relu.zero_point, 0);
  const Grid both = GridOver({-1, 1.55}, DType::kU8);
  EXPECT_FLOAT_EQ(both.scale, 0.01f);
  EXPECT_EQ(both.zero_point, 100);
  EXPECT_EQ(both.Quantise(0), 100);
  EXPECT_EQ(both.Quantise(-7), 0);
  EXPECT_EQ(both.Quantise(7), 255);
  EXPECT_NEAR(both.Dequantise(both.Quantise(0.5)), 0.5, 1e-6);
  EXPECT_EQ(GridOver({2, 5.1}, DType::kU8), relu) << "zero is widened in";
}

TEST(Grid, SignedIntegersAreShiftedOnes) {
  const Grid grid = GridOver({0, 5.1}, DType::kI8);
  EXPECT_EQ(grid.zero_point, -128);
  EXPECT_EQ(grid.Quantise(5.1), 127);
}

TEST(Grid, OfNothingButZerosIsHarmless) {
  for (const DType dtype : {DType::kU8, DType::kI8}) {
    const Grid grid = GridOver({0, 0}, dtype);
    EXPECT_EQ(grid.scale, 1);
    EXPECT_EQ(grid.Dequantise(grid.Quantise(0)), 0);
  }
}

TEST(ChooseRange, MinMaxIsAllThatWasSeen) {
  const Histogram seen = Of({-2, 6}, {-2, 0, 1, 6});
  EXPECT_EQ(ChooseRange(seen, RangeMethod::kMinMax, 50, DType::kU8), (Range{-2, 6}));
}

TEST(ChooseRange, PercentileLeavesTheTailsOut) {
  // 1,000 values from 0 to 1, one of 100: 0.1 % of them above.
  std::vector<float> values;
  for (int i = 0; i < 1000; ++i) values.push_back(static_cast<float>(i) / 1000);
  values.push_back(100);
  const Histogram seen = Of({0, 100}, values);
  const Range cut = ChooseRange(seen, RangeMethod::kPercentile, 99.5, DType::kU8);
  EXPECT_EQ(cut.low, 0);
  EXPECT_NEAR(cut.high, 1, 100.0 / Histogram::kBins);
  EXPECT_EQ(ChooseRange(seen, RangeMethod::kPercentile, 100, DType::kU8), (Range{0, 100}));
}

TEST(ChooseRange, LeastSquaresGivesUpAnOutlierThatCostsMore) {
  // Many values below 1, one of 4: the grid over [0, 4] errs by 4 / 255 / sqrt(12) each, the one
  // over [0, 1] by a quarter of that, and by 3 once.
  std::vector<float> values;
  for (int i = 0; i < 2'000'000; ++i) values.push_back(static_cast<float>(i % 1000) / 1000);
  values.push_back(4);
  const Range many = ChooseRange(Of({0, 4}, values), RangeMethod::kMse, 0, DType::kU8);
  EXPECT_LT(many.high, 2);
  EXPECT_GE(many.high, 0.9);
  // Of few values the outlier is the greater loss.
  values.resize(1000);
  values.push_back(4);
  const Range few = ChooseRange(Of({0, 4}, values), RangeMethod::kMse, 0, DType::kU8);
  EXPECT_GT(few.high, 3.8);
}

TEST(ChooseRange, LeastSquaresLooksAtBothEnds) {
  std::vector<float> values;
  for (int i = 0; i < 2'000'000; ++i) values.push_back(static_cast<float>(i % 2000) / 1000 - 1);
  values.push_back(-6);
  const Range range = ChooseRange(Of({-6, 1}, values), RangeMethod::kMse, 0, DType::kI8);
  EXPECT_GT(range.low, -2.5);
  EXPECT_NEAR(range.high, 1, 0.05);
}

TEST(RangeMethod, HasNames) {
  for (const std::string& name : RangeMethodNames()) EXPECT_TRUE(RangeMethodFromName(name).ok());
  EXPECT_THAT(RangeMethodFromName("entropy").status().message(),
              testing::HasSubstr("minmax|percentile|mse"));
}

}  // namespace
}  // namespace fettle::quantise
