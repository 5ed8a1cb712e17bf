#include "planner/accuracy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace fettle::planner {
namespace {

template <typename T>
Tensor Make(const std::vector<T>& values) {
  return Tensor::FromVector(Shape{static_cast<int64_t>(values.size())}, values).value();
}

TEST(CheckPlanTest, EqualOutputsAreFine) {
  const Tensor outputs[] = {Make<float>({1, 2, 3}), Tensor(), Make<int64_t>({4})};
  const PlanAccuracy accuracy = CheckPlan(outputs, outputs);
  EXPECT_TRUE(accuracy.ok);
  EXPECT_TRUE(std::isinf(accuracy.sqnr_db));
  EXPECT_EQ(accuracy.max_abs, 0);
  EXPECT_EQ(accuracy.worst_output, -1);
}

TEST(CheckPlanTest, TheWorstOutputIsNamed) {
  const Tensor want[] = {Make<float>({1, 1}), Make<float>({1, 1})};
  const Tensor got[] = {Make<float>({1, 1.001F}), Make<float>({1, 1.1F})};
  const PlanAccuracy accuracy = CheckPlan(got, want, {.min_sqnr_db = 40});
  EXPECT_FALSE(accuracy.ok);
  EXPECT_EQ(accuracy.worst_output, 1);
  EXPECT_NEAR(accuracy.sqnr_db, 23, 0.1);
  EXPECT_NEAR(accuracy.max_abs, 0.1, 1e-6);
  EXPECT_THAT(accuracy.reason, testing::HasSubstr("output 1: 23.0 dB"));
}

TEST(CheckPlanTest, NanAndInfinityMustAgree) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const Tensor want[] = {Make<float>({1, inf, nan, 5})};
  EXPECT_TRUE(CheckPlan(want, want).ok);
  for (const std::vector<float>& values :
       {std::vector<float>{1, inf, 3, 5}, {1, -inf, nan, 5}, {1, 2, nan, 5}, {nan, inf, nan, 5}}) {
    const Tensor got[] = {Make<float>(values)};
    EXPECT_FALSE(CheckPlan(got, want).ok);
  }
}

TEST(CheckPlanTest, IntegersAreCounted) {
  const Tensor want[] = {Make<uint8_t>({1, 2, 3, 4})};
  const Tensor got[] = {Make<uint8_t>({1, 2, 3, 5})};
  const PlanAccuracy accuracy = CheckPlan(got, want);
  EXPECT_FALSE(accuracy.ok);
  EXPECT_EQ(accuracy.changed, 0.25);
  EXPECT_EQ(accuracy.worst_output, 0);
  EXPECT_TRUE(CheckPlan(got, want, {.max_changed = 0.25}).ok);
}

TEST(WorstTradeTest, MostErrorPerSavedTimeGoesFirst) {
  const LossyChoice choices[] = {{0, 50}, {0.1, 100}, {0.1, 10}, {0.2, 100}};
  EXPECT_EQ(WorstTrade(choices), 2);
  const LossyChoice useless[] = {{0.1, 10}, {1e-4, 0}};
  EXPECT_EQ(WorstTrade(useless), 1);
  const LossyChoice exact[] = {{0, 1}, {0, 2}};
  EXPECT_EQ(WorstTrade(exact), -1);
  EXPECT_EQ(WorstTrade({}), -1);
}

}  // namespace
}  // namespace fettle::planner
