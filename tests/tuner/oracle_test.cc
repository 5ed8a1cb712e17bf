#include "tuner/measure/oracle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/noise.h"
#include "tests/tuner/groups.h"
#include "tuner/measure/expectation_cache.h"

namespace fettle::tuner {
namespace {

ThreadPool& Pool() {
  static ThreadPool pool(2);
  return pool;
}

TEST(SampleElementsTest, SmallShapesAreTakenWhole) {
  EXPECT_EQ(CountElements(SampleElements(Shape{4, 25}, 90, 1)), 100);
  EXPECT_EQ(CountElements(SampleElements(Shape{}, 90, 1)), 1);
  EXPECT_EQ(CountElements(SampleElements(Shape{3, 0}, 90, 1)), 0);
}

TEST(SampleElementsTest, GoesOnWhereEdgesRunOut) {
  for (int64_t extent = 380; extent < 1200; extent += 20)
    EXPECT_GE(CountElements(SampleElements(Shape{extent}, 300, 1)), 300);
}

TEST(SampleElementsTest, NoElementIsTakenTwice) {
  // More corners than samples, and both corners of the first axis are one.
  const Elements elements = SampleElements(Shape{1, 4, 8, 8}, 6, 1);
  EXPECT_EQ(CountElements(elements), 8);
  for (size_t i = 1; i < elements.size(); ++i) EXPECT_LT(elements[i - 1].end, elements[i].begin);
}

TEST(SampleElementsTest, RunsAreCutAtTheEndAndMergeWhereTheyMeet) {
  const Shape shape{3, 400, 50};
  const Elements elements = SampleElements(shape, 2048, 1, 64);
  EXPECT_EQ(elements.front().begin, 0);
  EXPECT_EQ(elements.back().end, shape.elements());
  for (size_t i = 1; i < elements.size(); ++i) EXPECT_LT(elements[i - 1].end, elements[i].begin);
  EXPECT_LE(CountElements(elements), 2048);
  EXPECT_GE(CountElements(elements), 1024);
}

TEST(SampleElementsTest, LargeShapesAreSampledAtCornersBordersAndLastBlocks) {
  const Shape shape{2, 35, 61, 67};
  const Elements elements = SampleElements(shape, 4096, 1);
  EXPECT_EQ(CountElements(elements), 4096);
  EXPECT_EQ(elements.front().begin, 0);
  EXPECT_EQ(elements.back().end, shape.elements());
  int64_t end = 0;
  std::vector<std::vector<bool>> seen;
  for (int axis = 0; axis < shape.rank(); ++axis)
    seen.emplace_back(static_cast<size_t>(shape[axis]), false);
  for (const ops::Region& range : elements) {
    EXPECT_LT(range.begin, range.end);
    EXPECT_GE(range.begin, end);
    end = range.end;
    std::vector<int64_t> at(4);
    Unravel(range.begin, shape, at);
    for (size_t axis = 0; axis < 4; ++axis) seen[axis][static_cast<size_t>(at[axis])] = true;
  }
  for (const auto& axis : seen) EXPECT_THAT(axis, testing::Each(true));
}

/// Everything before and behind the convolution is element by element.
constexpr std::string_view kResidual =
    "input %x: f32[1x6x40x40]\ninput %r: f32[1x7x40x40]\nconst %w: f32[7x6x3x3]\n"
    "const %s: f32[7x1x1]\n%c = Conv(%x, %w) {pads=[1,1,1,1]}\n%t = Exp(%s)\n%m = Mul(%c, %t)\n"
    "%a = Add(%m, %r)\n%y = Relu(%a)\noutput %y\noutput %m\n";

TEST(OracleTest, SampledElementsAreThoseOfTheWhole) {
  const auto group = ParseGroup(kResidual);
  const auto inputs = ir::NoiseInputs(*group, 1).value();
  const auto whole = ops::EvaluateGraph(*group, inputs).value();
  const Oracle oracle = Oracle::Make(group, Pool()).value();
  const Shape& shape = whole[0].shape();
  for (const Elements& wanted : {AllElements(shape), SampleElements(shape, 100, 3)}) {
    const Elements of_outputs[] = {wanted, wanted};
    const auto got = oracle.Run(inputs, of_outputs).value();
    ASSERT_EQ(got.size(), 2U);
    for (size_t o = 0; o < 2; ++o) {
      for (const ops::Region& range : wanted) {
        for (int64_t i = range.begin; i < range.end; ++i) {
          const auto at = static_cast<size_t>(i);
          ASSERT_EQ(got[o].as<float>()[at], whole[o].as<float>()[at]) << o << " " << i;
        }
      }
    }
  }
}

TEST(OracleTest, DifferentDemandsOnOneValueAreBothMet) {
  const auto group = ParseGroup(kResidual);
  const auto inputs = ir::NoiseInputs(*group, 1).value();
  const auto whole = ops::EvaluateGraph(*group, inputs).value();
  const Elements of_outputs[] = {{{5, 6}}, AllElements(whole[1].shape())};
  const auto got = Oracle::Make(group, Pool()).value().Run(inputs, of_outputs).value();
  EXPECT_EQ(got[0].as<float>()[5], whole[0].as<float>()[5]);
  EXPECT_TRUE(std::ranges::equal(got[1].as<float>(), whole[1].as<float>()));
}

TEST(OracleTest, CountsTheStepsOfWhatHasToBeComputed) {
  // 54 multiply-adds of the convolution and 4 steps for each of three nodes behind it.
  constexpr double kPerElement = 54 + 3 * 4;
  const Elements whole = AllElements(Shape{1, 7, 40, 40}), few{{3, 4}, {90, 91}};
  const Elements of_outputs[] = {few, few}, all_outputs[] = {whole, whole};
  const Oracle oracle = Oracle::Make(ParseGroup(kResidual), Pool()).value();
  EXPECT_EQ(oracle.StepsFor(all_outputs), kPerElement * 7 * 40 * 40);
  EXPECT_EQ(oracle.StepsFor(of_outputs), kPerElement * 2);
  // What a second convolution reads is needed whole.
  const auto two = ParseGroup(
      "input %x: f32[1x4x8x8]\nconst %v: f32[4x4x3x3]\nconst %w: f32[4x4x1x1]\n"
      "%c = Conv(%x, %v) {pads=[1,1,1,1]}\n%y = Conv(%c, %w)\noutput %y\n");
  const Elements first[] = {{{0, 1}}};
  EXPECT_EQ(Oracle::Make(two, Pool()).value().StepsFor(first), 4 * 8 * 8 * 4 * 9 + 4);
}

TEST(OracleTest, ElementsOfLongRowsShareTheirSums) {
  const auto norm = ParseGroup(
      "input %x: f32[1x3x100x100]\nconst %s: f32[3]\nconst %b: f32[3]\n"
      "%y = InstanceNormalization(%x, %s, %b)\noutput %y\n");
  const Oracle oracle = Oracle::Make(norm, Pool()).value();
  const auto steps = [&](Elements elements) { return oracle.StepsFor({&elements, 1}); };
  EXPECT_LT(steps({{0, 64}}), 1.1 * steps({{0, 1}}));
  EXPECT_GT(steps({{0, 1}, {9, 10}}), 1.9 * steps({{0, 1}}));
}

TEST(ExpectationTest, WhatIsTooMuchForThreeSetsHasOne) {
  const auto made = GroupExpectations::Make(
      ParseGroup("input %x: f32[1x4x8x8]\nconst %v: f32[4x4x3x3]\nconst %w: f32[4x4x1x1]\n"
                 "%c = Conv(%x, %v) {pads=[1,1,1,1]}\n%y = Conv(%c, %w)\noutput %y\n"),
      {.whole_macs = 900, .samples = 10, .extreme_samples = 10}, Pool());
  EXPECT_EQ(made.value()->sets().size(), 1U);
}

TEST(CheckInputsTest, InputsThatHoldShapesCannotBeMadeUp) {
  EXPECT_TRUE(CheckInputs(*ParseGroup(kResidual)).ok());
  ir::Graph graph =
      ops::Parse("input %x: f32[4x6]\ninput %s: i64[2]\n%y = Reshape(%x, %s)\noutput %y\n").value();
  graph.value(graph.outputs[0]).shape = Shape{6, 4};
  const Status status = CheckInputs(graph);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.message(), testing::HasSubstr("input 1 is known at run time only"));
}

TEST(ExpectationTest, HasExtremeSetsOfFloatsAndBytes) {
  const auto make = [](std::string_view text) {
    return GroupExpectations::Make(ParseGroup(text), {}, Pool()).value();
  };
  const auto floats = make("input %x: f32[3x4]\n%y = Neg(%x)\noutput %y\n");
  ASSERT_EQ(floats->sets().size(), 3U);
  EXPECT_EQ(floats->sets()[1].inputs_name, "large");
  const auto large = floats->sets()[1].inputs[0].as<float>();
  for (size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(large[i] > 0, (i / 4 + i % 4) % 2 == 0) << i;
    EXPECT_GT(std::fabs(large[i]), 900);
  }
  for (float x : floats->sets()[2].inputs[0].as<float>()) EXPECT_LT(std::fabs(x), 1e-6F);
  const auto bytes = make("input %x: u8[6]\n%y = Cast(%x) {to=\"f32\"}\noutput %y\n");
  EXPECT_THAT(bytes->sets()[1].inputs[0].as<uint8_t>(),
              testing::ElementsAre(255, 0, 255, 0, 255, 0));
  const auto indices = make("input %x: i64[6]\n%y = Neg(%x)\noutput %y\n");
  EXPECT_EQ(indices->sets().size(), 1U);
}

TEST(ExpectationTest, IndicesStayInRange) {
  const auto made = GroupExpectations::Make(
      ParseGroup("input %x: f32[1x8]\ninput %i: i64[5]\n%y = Gather(%x, %i) {axis=0}\noutput %y\n"),
      {}, Pool());
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_TRUE((*made)->oracle().ok()) << (*made)->oracle().message();
  EXPECT_EQ((*made)->sets()[0].outputs.size(), 1U);
}

TEST(ExpectationTest, LargeGroupsAreSampled) {
  const auto group = ParseGroup(kResidual);
  const auto made =
      GroupExpectations::Make(group, {.whole_macs = 1000, .samples = 500}, Pool()).value();
  EXPECT_LE(CountElements(made->sets()[0].outputs[0].elements), 500);
  EXPECT_EQ(static_cast<int64_t>(made->sets()[0].outputs[0].values.size()),
            CountElements(made->sets()[0].outputs[0].elements));
}

TEST(ExpectationTest, LongRowsAreSampledInRuns) {
  const auto group = ParseGroup(
      "input %x: f32[1x8x200x200]\nconst %s: f32[8]\nconst %b: f32[8]\n"
      "%y = InstanceNormalization(%x, %s, %b)\noutput %y\n");
  const auto made = GroupExpectations::Make(group, {.whole_macs = 1'000'000}, Pool()).value();
  ASSERT_EQ(made->sets().size(), 3U);
  const Elements& elements = made->sets()[0].outputs[0].elements;
  EXPECT_LE(elements.size(), 16U);
  EXPECT_GE(CountElements(elements), 64);
  EXPECT_EQ(elements.back().end, group->value(group->outputs[0]).shape->elements());
}

TEST(ExpectationCacheTest, GroupsOfEqualTextAndConstantsShare) {
  ExpectationCache cache({}, 1 << 20, Pool());
  const auto first = ParseGroup(kResidual), second = ParseGroup(kResidual);
  EXPECT_EQ(cache.Get(first).value(), cache.Get(second).value());
  ir::Graph other = *first;
  const ir::ValueId weights = *other.FindValue("w");
  const Tensor ones = ir::NoiseTensor(DType::kF32, Shape{7, 6, 3, 3}, 1, {1, 1}).value();
  other.value(weights).constant = std::make_shared<const Constant>(Constant::FromTensor(ones));
  EXPECT_NE(cache.Get(std::make_shared<const ir::Graph>(other)).value(), cache.Get(first).value());
}

TEST(ExpectationCacheTest, KeepsTheNewestWithinItsBytes) {
  ExpectationCache cache({}, /*most_bytes=*/0, Pool());
  const auto group = ParseGroup(kResidual);
  ASSERT_TRUE(cache.Get(group).ok());
  ASSERT_TRUE(cache.Get(ParseGroup("input %x: f32[4]\n%y = Neg(%x)\noutput %y\n")).ok());
  EXPECT_TRUE(cache.Get(group).ok());
}

}  // namespace
}  // namespace fettle::tuner
