// Ranges of --shape: what is one, and what is said of those that are none.
#include "ranges/shape_ranges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobs/options.h"

namespace fettle::tools {
namespace {

using ::testing::HasSubstr;

TEST(ShapeRanges, GoFromOneSizeToTheOther) {
  const auto ranges = ParseShapeRanges({"x=1x3x32..640x48", "a=b=7"});
  ASSERT_TRUE(ranges.ok()) << ranges.status().message();
  EXPECT_EQ(ranges->at("x").low, (Shape{1, 3, 32, 48}));
  EXPECT_EQ(ranges->at("x").high, (Shape{1, 3, 640, 48}));
  EXPECT_EQ(ranges->at("a=b"), (tuner::ShapeRange{Shape{7}, Shape{7}}));
  EXPECT_EQ(RangeText(ranges->at("x")), "1x3x32..640x48");
}

TEST(ShapeRanges, AreToldFromShapes) {
  EXPECT_TRUE(HasRange({"y=4", "x=1x2..3"}));
  EXPECT_TRUE(HasRange({"x=1x.."}));
  EXPECT_FALSE(HasRange({"a..b=4", "x=1x2"}));
}

TEST(ShapeRanges, WhatIsNoneIsRefusedByName) {
  const std::pair<std::vector<std::string>, const char*> kBad[] = {
      {{"x=1x..640"}, "got '..640'"},
      {{"x=1x32.."}, "got '32..'"},
      {{"x=.."}, "got '..'"},
      {{"x=1..2..3"}, "got '1..2..3'"},
      {{"x=1x32...64"}, "got '32...64'"},
      {{"x=-1..4"}, "got '-1..4'"},
      {{"x=1x640..32"}, "runs backwards; the smaller size comes first: 32..640"},
      {{"x=1x0..32"}, "a range begins at 1"},
      {{"x=32..32"}, "is one size; write 32"},
      {{"x=1..99999999999999999999"}, "got '1..99999999999999999999'"},
      {{"x=1..9999999999x9999999999"}, "too many elements"},
      {{"x=1x2..3x"}, "got ''"},
      {{"=1..2"}, "expected NAME="},
      {{"x=1..4", "x=2..4"}, "input 'x' has two shapes, 1..4 and 2..4"},
      {{"x=1..4", "x=3"}, "input 'x' has two shapes, 1..4 and 3"},
  };
  for (const auto& [texts, reason] : kBad) {
    const auto ranges = ParseShapeRanges(texts);
    ASSERT_FALSE(ranges.ok()) << texts[0];
    EXPECT_THAT(ranges.status().message(), HasSubstr(reason));
  }
}

TEST(ShapeRanges, AreNoShapes) {
  EXPECT_THAT(ParseShapes({"x=1x2..3"}).status().message(), HasSubstr("only tune takes a range"));
}

}  // namespace
}  // namespace fettle::tools
