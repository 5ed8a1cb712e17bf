#include "solver/bounded/bounded.h"

#include <gtest/gtest.h>

#include "solver/bounded/tree_search.h"
#include "tests/solver/random_network.h"

namespace fettle::solver {
namespace {

constexpr double kNoTimeLimit = 1e9;

std::vector<NetworkShape> Shapes() {
  return {{9, 4, 16, 0, 0.1, 0.1, 0, 0},     {8, 4, 14, 3, 0.2, 0.2, 0, 0},
          {9, 4, 14, 0, 0.05, 0.1, 8, 0.5},  {8, 4, 12, 2, 0.05, 0.1, 12, 0.6},
          {10, 3, 16, 0, 0.1, 0.0, 30, 0.4}, {6, 3, 6, 0, 0.3, 0.3, 5, 0.2}};
}

TEST(Bounded, FindsTheOptimum) {
  int infeasible = 0;
  int branched = 0;
  for (const NetworkShape& shape : Shapes()) {
    for (uint64_t seed = 0; seed < 40; ++seed) {
      SCOPED_TRACE(testing::Message() << shape.steps << " steps, seed " << seed);
      const LimitedNetwork problem = RandomNetwork(shape, seed);
      const auto optimum = BruteForce(problem);
      const Result<Bounded> found =
          SolveBounded(problem, {.seconds = kNoTimeLimit, .nodes = 100'000, .root_passes = 200});
      ASSERT_EQ(found.ok(), optimum.has_value());
      if (!optimum) {
        EXPECT_EQ(found.status().code(), StatusCode::kUnsupported);
        ++infeasible;
        continue;
      }
      branched += found->nodes > 0;
      EXPECT_NEAR(found->cost, optimum->cost, 1e-6);
      EXPECT_NEAR(found->bound, optimum->cost, 1e-6);
      EXPECT_EQ(Sum(problem.network, found->values), found->cost);
      EXPECT_TRUE(Fits(problem, found->values));
    }
  }
  EXPECT_GT(infeasible, 10);
  EXPECT_GT(branched, 3);
}

TEST(Bounded, BoundsHoldWhereTheSearchEndsEarly) {
  int open = 0;
  for (const NetworkShape& shape : Shapes()) {
    for (uint64_t seed = 0; seed < 40; ++seed) {
      SCOPED_TRACE(testing::Message() << shape.steps << " steps, seed " << seed);
      const LimitedNetwork problem = RandomNetwork(shape, seed);
      const auto optimum = BruteForce(problem);
      const Result<Bounded> found = SolveBounded(
          problem,
          {.seconds = kNoTimeLimit, .nodes = static_cast<int64_t>(seed % 3), .root_passes = 5});
      if (!found.ok()) {
        EXPECT_FALSE(optimum.has_value());
        continue;
      }
      if (!optimum) {
        EXPECT_TRUE(found->values.empty());
        continue;
      }
      EXPECT_LE(found->bound, optimum->cost + 1e-6);
      EXPECT_GE(found->cost, optimum->cost - 1e-6);
      open += found->bound < found->cost - 1e-6;
      if (found->values.empty()) continue;
      EXPECT_EQ(Sum(problem.network, found->values), found->cost);
      EXPECT_TRUE(Fits(problem, found->values));
    }
  }
  EXPECT_GT(open, 5);
}

TEST(Bounded, EqualSeedsGiveEqualResults) {
  const LimitedNetwork problem = RandomNetwork({40, 6, 90, 0, 0.02, 0.0, 20, 0.6}, 7);
  const BoundedOptions options{.seconds = kNoTimeLimit, .nodes = 5, .root_passes = 100, .seed = 3};
  const Result<Bounded> first = SolveBounded(problem, options);
  const Result<Bounded> second = SolveBounded(problem, options);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->values, second->values);
  EXPECT_EQ(first->bound, second->bound);
}

TEST(Bounded, NoTimeIsEnoughForABound) {
  const LimitedNetwork problem = RandomNetwork({40, 6, 90, 0, 0.05, 0.0, 20, 0.6}, 7);
  const Result<Bounded> found =
      SolveBounded(problem, {.seconds = 0, .nodes = 100, .root_passes = 100});
  ASSERT_TRUE(found.ok());
  EXPECT_GT(found->bound, -kForbidden);
  EXPECT_LE(found->bound, found->cost);
}

TEST(Bounded, SolvesTheEmptyProblem) {
  LimitedNetwork problem;
  problem.network.constant = 3;
  const Result<Bounded> found = SolveBounded(problem, {});
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->cost, 3);
  EXPECT_EQ(found->bound, 3);
}

TEST(Bounded, RejectsMemoryOutOfRange) {
  LimitedNetwork problem;
  problem.network.unary = {{1, 2}};
  problem.capacity = {5};
  for (const Held& held : {Held{1, 0, 1, {1, 1}}, Held{0, 0, 2, {1, 1}}, Held{0, 0, 0, {1, 1}},
                           Held{0, 0, 1, {1}}, Held{0, 0, 1, {1, -1}}}) {
    problem.held = {held};
    EXPECT_EQ(SolveBounded(problem, {}).status().code(), StatusCode::kInvalidArgument);
  }
}

TEST(TreeSearch, ReturnsOnlyWhatIsAllowedAndFits) {
  int found = 0;
  for (const NetworkShape& shape : Shapes()) {
    for (uint64_t seed = 0; seed < 40; ++seed) {
      const LimitedNetwork problem = RandomNetwork(shape, seed);
      const auto optimum = BruteForce(problem);
      const auto values = SearchByTrees(problem, std::vector<double>(problem.capacity.size(), 0),
                                        Assignment(problem.network.unary.size(), 0),
                                        {.seed = seed, .moves = 300, .hottest = 30});
      if (!values) continue;
      ASSERT_TRUE(optimum.has_value());
      EXPECT_TRUE(Fits(problem, *values));
      EXPECT_GE(Sum(problem.network, *values), optimum->cost);
      EXPECT_LT(Sum(problem.network, *values), kForbidden);
      found += Sum(problem.network, *values) == optimum->cost;
    }
  }
  EXPECT_GT(found, 20);
}

}  // namespace
}  // namespace fettle::solver
