// The exact methods agree with brute force.
#include <gtest/gtest.h>

#include "solver/solve.h"
#include "tests/solver/random_problem.h"

namespace fettle::solver {
namespace {

/// Solves by `method` and by brute force; true where there is a solution.
bool ExpectEqualsBruteForce(const Problem& problem, std::string_view method) {
  const Status valid = Validate(problem);
  EXPECT_TRUE(valid.ok()) << valid.message() << Print(problem);
  const Result<Solution> expected = Solve(problem, {.method = "brute"});
  const Result<Solution> got = Solve(problem, {.method = method});
  EXPECT_EQ(expected.ok(), got.ok()) << got.status().message() << '\n' << Print(problem);
  if (!expected.ok() || !got.ok()) return false;
  EXPECT_NEAR(got->cost, expected->cost, 1e-9) << Print(problem);
  EXPECT_TRUE(got->optimal()) << got->bound << " of " << got->cost << '\n' << Print(problem);
  const Result<Cost> cost = Evaluate(problem, *got);
  EXPECT_TRUE(cost.ok()) << cost.status().message() << '\n' << Print(problem);
  if (cost.ok()) {
    EXPECT_NEAR(*cost, got->cost, 1e-9);
  }
  return true;
}

TEST(Exact, EqualsBruteForceWithoutLimits) {
  int solved = 0;
  for (uint64_t seed = 0; seed < 1500; ++seed) {
    const RandomShape shape{.nodes = 2 + static_cast<int>(seed % 5),
                            .states = 1 + static_cast<int>(seed % 3)};
    solved += ExpectEqualsBruteForce(RandomProblem(seed, shape), "auto") ? 1 : 0;
    if (HasFailure()) break;
  }
  EXPECT_GT(solved, 1000);
}

}  // namespace
}  // namespace fettle::solver
