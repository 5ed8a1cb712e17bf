// The exact methods agree with brute force.
#include <gtest/gtest.h>

#include <algorithm>

#include "solver/evaluate.h"
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

int64_t PeakBytes(const Problem& problem, const Solution& solution) {
  const std::vector<int64_t> live = LiveBytes(problem, solution);
  return *std::max_element(live.begin(), live.end());
}

TEST(Exact, EqualsBruteForceWithoutLimits) {
  int solved = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    const int number = static_cast<int>(seed);
    const RandomShape shape{.nodes = 2 + number % 5, .states = 1 + number % 3};
    solved += ExpectEqualsBruteForce(RandomProblem(seed, shape), "auto") ? 1 : 0;
    if (HasFailure()) break;
  }
  EXPECT_GT(solved, 700);
}

/// A budget between what the cheapest and the most exact solutions take.
TEST(Exact, EqualsBruteForceWithErrorBudget) {
  int solved = 0, binding = 0;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    const int number = static_cast<int>(seed);
    Problem problem = RandomProblem(
        seed,
        {.nodes = 2 + number % 4, .states = 2 + number % 2, .choices = 4, .has_errors = true});
    const Result<Solution> free = Solve(problem, {});
    if (!free.ok()) continue;
    problem.error_budget = free->error * (number % 7) / 6;
    if (!ExpectEqualsBruteForce(problem, "auto")) continue;
    ++solved;
    binding += Solve(problem, {})->cost > free->cost ? 1 : 0;
    if (HasFailure()) break;
  }
  EXPECT_GT(solved, 300);
  EXPECT_GT(binding, 100);
}

TEST(Exact, EqualsBruteForceWithMemoryLimit) {
  int solved = 0, binding = 0;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    const int number = static_cast<int>(seed);
    Problem problem = RandomProblem(
        seed, {.nodes = 2 + number % 4, .states = 2 + number % 2, .choices = 4, .has_bytes = true});
    const Result<Solution> free = Solve(problem, {});
    if (!free.ok()) continue;
    problem.memory_limit = PeakBytes(problem, *free) - number % 6;
    if (!ExpectEqualsBruteForce(problem, "auto")) continue;
    ++solved;
    binding += Solve(problem, {})->cost > free->cost ? 1 : 0;
    if (HasFailure()) break;
  }
  EXPECT_GT(solved, 300);
  EXPECT_GT(binding, 50);
}

}  // namespace
}  // namespace fettle::solver
