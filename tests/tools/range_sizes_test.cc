// Which sizes of a range are tuned, and which of them a database knows again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tuner/model/kept_plans.h"
#include "tuner/model/tune_range.h"

namespace fettle::runtime {
namespace {

using ::testing::ElementsAre;

tuner::ShapeRanges Lengths(int64_t low, int64_t high) {
  return {{"x", {Shape{1, low}, Shape{1, high}}}};
}

/// The extents that are tuned where `kernels` says what is best at each.
std::vector<int64_t> Tuned(const tuner::ShapeRanges& ranges,
                           const std::function<std::string(int64_t)>& kernels) {
  tuner::RangeSizes sizes(ranges);
  while (const std::optional<double> share = sizes.Next()) {
    const tuner::InputShapes shapes = sizes.At(*share);
    sizes.Add({.share = *share, .shapes = shapes, .kernels = kernels(shapes.at("x")[1])});
  }
  std::vector<int64_t> extents;
  for (const tuner::TunedSize& size : sizes.tuned()) extents.push_back(size.shapes.at("x")[1]);
  return extents;
}

TEST(ShapesAt, AreBetweenByRatioAndMultiplesOfWhatDividesTheEnds) {
  const tuner::ShapeRanges ranges = {{"x", {Shape{1, 32, 7}, Shape{1, 512, 7}}},
                                     {"n", {Shape{1}, Shape{100}}}};
  EXPECT_EQ(tuner::ShapesAt(ranges, 0),
            (tuner::InputShapes{{"x", Shape{1, 32, 7}}, {"n", Shape{1}}}));
  EXPECT_EQ(tuner::ShapesAt(ranges, 1),
            (tuner::InputShapes{{"x", Shape{1, 512, 7}}, {"n", Shape{100}}}));
  EXPECT_EQ(tuner::ShapesAt(ranges, 0.5),
            (tuner::InputShapes{{"x", Shape{1, 128, 7}}, {"n", Shape{10}}}));
  EXPECT_EQ(tuner::ShapesAt(ranges, 0.3).at("x")[1] % 32, 0);
}

TEST(RangeSizes, AreTheEndsAndTheMiddleWhereNothingChanges) {
  EXPECT_THAT(Tuned(Lengths(32, 128), [](int64_t) { return "a"; }), ElementsAre(32, 64, 128));
}

TEST(RangeSizes, WideGapsAreLookedInto) {
  EXPECT_THAT(Tuned(Lengths(1, 256), [](int64_t) { return "a"; }), ElementsAre(1, 4, 16, 64, 256));
}

TEST(RangeSizes, AreDenseWhereDecisionsChange) {
  const std::vector<int64_t> sizes =
      Tuned(Lengths(32, 512), [](int64_t size) { return size < 200 ? "a" : "b"; });
  EXPECT_THAT(sizes, ElementsAre(32, 128, 192, 224, 256, 512));
}

TEST(RangeSizes, EndWhereNoSizeIsLeftOrTooManyWereTuned) {
  EXPECT_THAT(Tuned(Lengths(3, 4), [](int64_t size) { return std::to_string(size); }),
              ElementsAre(3, 4));
  EXPECT_THAT(Tuned(Lengths(1, 7), [](int64_t size) { return std::to_string(size); }),
              ElementsAre(1, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(Tuned(Lengths(1, 100000), [](int64_t size) { return std::to_string(size); }).size(),
            9U);
}

TEST(RangeSizes, WhatCannotRunIsNotTriedAgain) {
  tuner::RangeSizes sizes(Lengths(1, 100));
  for (const double share : {1.0, 0.0}) {
    EXPECT_EQ(sizes.Next(), share);
    sizes.Add({.share = share, .shapes = sizes.At(share), .kernels = std::to_string(share)});
  }
  EXPECT_EQ(sizes.Next(), 0.5);
  sizes.LeaveOut(0.5);
  EXPECT_EQ(sizes.Next(), std::nullopt);
  EXPECT_EQ(sizes.tuned()[1].regime, 1);
}

TEST(KeptRange, IsFoundByStructureAndReplacedByTheNextOne) {
  const auto store = tuner::MemoryStore();
  const planner::DecisionKey key{.structure = 5, .graph = 1, .device = "cpu", .threads = 2};
  planner::DecisionKey other = key;
  other.graph = 2;
  tuner::KeepRange({{key, {Shape{1, 4}, Shape{}}}, {other, {Shape{1, 8}, Shape{}}}}, *store);
  EXPECT_TRUE(tuner::FindRange(key, *store).empty());  // no plan is kept
  const planner::Decision decision;
  tuner::KeepLearned(key, decision, "plan one", *store);
  tuner::KeepLearned(other, decision, "plan two", *store);
  planner::DecisionKey asked = key;
  asked.graph = 77;
  const planner::TunedRange range = tuner::FindRange(asked, *store);
  ASSERT_EQ(range.plans().size(), 2U);
  EXPECT_EQ(range.plans()[1].text, "plan two");
  EXPECT_THAT(range.plans()[1].made_for, ElementsAre(Shape{1, 8}, Shape{}));
  asked.threads = 1;
  EXPECT_TRUE(tuner::FindRange(asked, *store).empty());
  tuner::KeepRange({{other, {Shape{1, 8}}}}, *store);
  EXPECT_EQ(tuner::FindRange(key, *store).plans().size(), 1U);
}

}  // namespace
}  // namespace fettle::runtime
