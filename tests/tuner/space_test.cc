#include "tuner/search/space.h"

#include <gmock/gmock.h>

#include <set>

#include "tests/tuner/range.h"

namespace fettle::tuner {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

Parameter Numbers(const std::string& name, std::vector<int64_t> values) {
  return {name, {values.begin(), values.end()}};
}

SearchSpace Tiles() {
  return SearchSpace::Create({Numbers("MWG", {16, 32, 64}), Numbers("MDIMC", {8, 16, 32}),
                              Numbers("VWM", {1, 2, 4})},
                             {"MWG % (MDIMC * VWM) == 0"})
      .value();
}

std::string SpaceFailure(std::vector<Parameter> parameters,
                         std::vector<std::string> conditions = {}) {
  auto space = SearchSpace::Create(std::move(parameters), conditions);
  return space.ok() ? "" : space.status().message();
}

/// By walking from valid point to valid point.
std::vector<Point> All(const SearchSpace& space) {
  std::vector<Point> points;
  int64_t steps = 1000000;
  uint64_t from = 0;
  while (from < space.combinations()) {
    const std::optional<Point> point = space.FirstValid(space.PointAt(from), steps);
    if (!point) break;
    points.push_back(*point);
    from = space.IndexOf(*point) + 1;
  }
  return points;
}

TEST(SpaceTest, RefusesWhatMakesNoSense) {
  EXPECT_THAT(SpaceFailure({}), HasSubstr("at least one"));
  EXPECT_THAT(SpaceFailure({Numbers("", {1})}), HasSubstr("no name"));
  EXPECT_THAT(SpaceFailure({Numbers("A", {})}), HasSubstr("'A' has no values"));
  EXPECT_THAT(SpaceFailure({Numbers("A", {1, 2, 1})}), HasSubstr("value 1 is listed twice"));
  EXPECT_THAT(SpaceFailure({Numbers("A", {1}), Numbers("A", {1})}),
              HasSubstr("'A' is listed twice"));
  EXPECT_THAT(SpaceFailure({Numbers("A", {1})}, {"A ="}), HasSubstr("column 3"));
  const std::vector<Parameter> vast(8, Range("", 1000));
  std::vector<Parameter> named = vast;
  for (size_t i = 0; i < named.size(); ++i)
    named[i].name = std::string(1, static_cast<char>('a' + i));
  EXPECT_THAT(SpaceFailure(named), HasSubstr("2^62"));
}

TEST(SpaceTest, IndexAndPointAreInverse) {
  const SearchSpace space = Tiles();
  EXPECT_EQ(space.combinations(), 27u);
  for (uint64_t index = 0; index < 27; ++index)
    EXPECT_EQ(space.IndexOf(space.PointAt(index)), index);
  EXPECT_THAT(space.PointAt(1), ElementsAre(0, 0, 1));
}

TEST(SpaceTest, PrintsByNameAndFindsByValue) {
  const SearchSpace space = Tiles();
  EXPECT_EQ(space.Print({1, 0, 2}), "MDIMC=8,MWG=32,VWM=4");
  EXPECT_THAT(space.Find({int64_t{32}, int64_t{8}, int64_t{4}}).value(), ElementsAre(1, 0, 2));
  EXPECT_THAT(space.Find({int64_t{33}, int64_t{8}, int64_t{4}}).status().message(),
              HasSubstr("'MWG' has no value 33"));
}

TEST(SpaceTest, WalkFindsExactlyTheValidPoints) {
  const SearchSpace space = Tiles();
  std::vector<Point> valid;
  for (uint64_t index = 0; index < space.combinations(); ++index)
    if (space.Valid(space.PointAt(index))) valid.push_back(space.PointAt(index));
  EXPECT_FALSE(valid.empty());
  EXPECT_LT(valid.size(), 27u);
  EXPECT_EQ(All(space), valid);
  EXPECT_FALSE(space.Valid({0, 0}));
  EXPECT_FALSE(space.Valid({0, 0, 3}));
  EXPECT_FALSE(space.Valid({-1, 0, 0}));
}

TEST(SpaceTest, PredicateAndConditionsBothBind) {
  const auto odd = [](const Point& point) { return point[1] % 2 == 1; };
  const SearchSpace space =
      SearchSpace::Create({Range("A", 4), Range("B", 4)}, {"A + B < 4"}, odd).value();
  EXPECT_THAT(All(space), ElementsAre(Point{0, 1}, Point{0, 3}, Point{1, 1}, Point{2, 1}));
}

TEST(SpaceTest, Neighbours) {
  const SearchSpace space = SearchSpace::Create({Range("A", 4), Range("B", 3)}, {"A != 3"}).value();
  EXPECT_THAT(space.Hamming({2, 0}),
              UnorderedElementsAre(Point{0, 0}, Point{1, 0}, Point{2, 1}, Point{2, 2}));
}

TEST(SpaceTest, NeighboursInLongListsAreFew) {
  const SearchSpace space = SearchSpace::Create({Range("A", 100000), Range("B", 2)}).value();
  const std::vector<Point> near = space.Hamming({5, 0});
  EXPECT_LT(near.size(), 64u);
  EXPECT_THAT(near, ::testing::Contains(Point{4, 0}));
  EXPECT_THAT(near, ::testing::Contains(Point{6, 0}));
  EXPECT_THAT(near, ::testing::Contains(Point{5, 1}));
}

TEST(SpaceTest, RandomPointsAreValidAndReachAll) {
  const SearchSpace space = Tiles();
  Random random(1);
  std::set<Point> seen;
  for (int i = 0; i < 500; ++i) {
    const std::optional<Point> point = space.RandomValid(random);
    ASSERT_TRUE(point && space.Valid(*point));
    seen.insert(*point);
  }
  EXPECT_EQ(seen.size(), All(space).size());
}

/// 2^60 combinations of which few are valid: found from parameter to parameter.
TEST(SpaceTest, HugeSparseSpacesAreNotWalked) {
  std::vector<Parameter> parameters;
  std::vector<std::string> conditions;
  for (int i = 0; i < 10; ++i) {
    parameters.push_back(Range(fmt::format("p{}", i), 64));
    if (i > 0) conditions.push_back(fmt::format("p{} == (p{} * 5 + 1) % 64", i, i - 1));
  }
  const SearchSpace space = SearchSpace::Create(parameters, conditions).value();
  Random random(1);
  const std::optional<Point> point = space.RandomValid(random);
  ASSERT_TRUE(point.has_value());
  EXPECT_TRUE(space.Valid(*point));
  EXPECT_EQ(All(space).size(), 64u);
}

TEST(SpaceTest, NoValidPointIsFoundOutWithinTheSteps) {
  std::vector<Parameter> parameters;
  for (int i = 0; i < 8; ++i) parameters.push_back(Range(fmt::format("p{}", i), 100));
  const auto none = [](const Point&) { return false; };
  const SearchSpace space = SearchSpace::Create(parameters, {}, none).value();
  Random random(1);
  EXPECT_FALSE(space.RandomValid(random).has_value());
  int64_t steps = 10000;
  EXPECT_FALSE(space.FirstValid(space.PointAt(0), steps).has_value());
  EXPECT_LE(steps, 0);
  const SearchSpace small = SearchSpace::Create({Range("A", 3)}, {"A > 5"}).value();
  EXPECT_FALSE(small.RandomValid(random).has_value());
}

}  // namespace
}  // namespace fettle::tuner
