#include "solver/network/simplify.h"

#include <gtest/gtest.h>

#include "solver/bounded/dual_bound.h"
#include "tests/solver/random_network.h"

namespace fettle::solver {
namespace {

std::vector<NetworkShape> SmallShapes() {
  NetworkShape plain;
  NetworkShape sparse{8, 3, 8, 0, 0.1, 0.3};
  NetworkShape triples{6, 3, 5, 3, 0.1, 0.3};
  NetworkShape loose{7, 4, 9, 0, 0.2, 0.2, 6, 0.8};
  NetworkShape tight{7, 4, 9, 0, 0.1, 0.2, 6, 0.4};
  NetworkShape both{6, 3, 6, 2, 0.1, 0.2, 9, 0.5};
  return {plain, sparse, triples, loose, tight, both};
}

TEST(Simplify, KeepsTheOptimum) {
  int infeasible = 0;
  for (const NetworkShape& shape : SmallShapes()) {
    for (uint64_t seed = 0; seed < 150; ++seed) {
      SCOPED_TRACE(testing::Message() << shape.steps << " steps, seed " << seed);
      const LimitedNetwork problem = RandomNetwork(shape, seed);
      ASSERT_TRUE(Validate(problem).ok());
      const auto optimum = BruteForce(problem);
      const Simplified simplified = Simplify(problem);
      const auto rest = simplified.feasible ? BruteForce(simplified.problem) : std::nullopt;
      ASSERT_EQ(rest.has_value(), optimum.has_value());
      infeasible += !optimum.has_value();
      if (!optimum) continue;
      EXPECT_NEAR(rest->cost, optimum->cost, 1e-9);
      const Assignment restored = simplified.Restore(rest->values);
      EXPECT_NEAR(Sum(problem.network, restored), optimum->cost, 1e-9);
      EXPECT_TRUE(Fits(problem, restored));
    }
  }
  EXPECT_GT(infeasible, 20);
}

TEST(Simplify, FittingIsTheSameAfterStepsWereDropped) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const LimitedNetwork problem = RandomNetwork({5, 3, 3, 0, 0, 0, 12, 0.6}, seed);
    const Simplified simplified = Simplify(problem);
    if (!simplified.feasible) continue;
    Assignment values(simplified.problem.network.unary.size(), 0);
    for (;;) {
      if (Sum(simplified.problem.network, values) < kForbidden) {
        ASSERT_EQ(Fits(simplified.problem, values), Fits(problem, simplified.Restore(values)));
      }
      size_t v = 0;
      while (v < values.size() &&
             ++values[v] == simplified.problem.network.domain(static_cast<int>(v))) {
        values[v++] = 0;
      }
      if (v == values.size()) break;
    }
  }
}

TEST(Simplify, SolvesWhatIsATree) {
  const LimitedNetwork tree = RandomNetwork({40, 4, 0, 0, 0, 0}, 1);
  LimitedNetwork problem = tree;
  for (int v = 1; v < 40; ++v) {
    Factor factor{{v / 2, v}, {}};
    for (int i = 0; i < tree.network.domain(v / 2) * tree.network.domain(v); ++i) {
      factor.table.push_back((i * 7 + v * 3) % 11);
    }
    problem.network.factors.push_back(std::move(factor));
  }
  EXPECT_EQ(Simplify(problem).problem.network.variables(), 0);
}

TEST(DualBound, NeverExceedsTheOptimum) {
  for (const NetworkShape& shape : SmallShapes()) {
    for (uint64_t seed = 0; seed < 60; ++seed) {
      SCOPED_TRACE(testing::Message() << shape.steps << " steps, seed " << seed);
      const LimitedNetwork problem = RandomNetwork(shape, seed);
      const Simplified simplified = Simplify(problem);
      const auto optimum = BruteForce(problem);
      if (!optimum) continue;
      DualBound dual(simplified.problem);
      for (int i = 0; i < 30; ++i) {
        const Cost before = dual.bound();
        dual.Pass();
        EXPECT_GE(dual.bound(), before - 1e-9);
        EXPECT_LE(dual.bound(), optimum->cost + 1e-9);
        if (const auto values = dual.Round()) {
          EXPECT_TRUE(Fits(simplified.problem, *values));
          EXPECT_GE(Sum(simplified.problem.network, *values), optimum->cost - 1e-9);
        }
        dual.StepPrices(2);
      }
    }
  }
}

TEST(DualBound, BoundsByValueHoldForTheOptimum) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const LimitedNetwork problem =
        Simplify(RandomNetwork({7, 4, 9, 1, 0.1, 0.2, 6, 0.5}, seed)).problem;
    const auto optimum = BruteForce(problem);
    if (!optimum) continue;
    DualBound dual(problem);
    for (int i = 0; i < 10; ++i) {
      dual.Pass();
      dual.StepPrices(2);
    }
    const auto bounds = dual.BoundsByValue();
    for (size_t v = 0; v < bounds.size(); ++v) {
      EXPECT_LE(bounds[v][static_cast<size_t>(optimum->values[v])], optimum->cost + 1e-9);
    }
    const LimitedNetwork moved = dual.Reparametrised();
    EXPECT_NEAR(Sum(moved.network, optimum->values), optimum->cost, 1e-9);
  }
}

}  // namespace
}  // namespace fettle::solver
