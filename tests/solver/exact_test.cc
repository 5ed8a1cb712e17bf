// The exact methods agree with brute force.
#include <gtest/gtest.h>

#include <algorithm>

#include "solver/encode/complete.h"
#include "solver/encode/encode.h"
#include "solver/exact/eliminate.h"
#include "solver/problem/evaluate.h"
#include "solver/problem/live_bytes.h"
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

/// The cheapest solution by eliminating all of a spread encoding.
Result<Solution> SolveSpread(const Problem& problem) {
  const Kept kept = KeepAll(problem);
  ASSIGN_OR_RETURN(const Encoding encoding,
                   Encode(problem, kept, {}, Conversions::kShared, Detail::kSpread));
  const Eliminated best = Eliminate(encoding.network, FindOrder(encoding.network));
  if (best.cost == kForbidden) return Unsupported("no cover");
  ASSIGN_OR_RETURN(Solution solution, Complete(problem, PicksOf(encoding, best.values), {}));
  EXPECT_NEAR(solution.cost, best.cost, 1e-9) << Print(problem);
  return solution;
}

/// A network does not see groups that wait for each other; where they do, it costs no more.
TEST(Exact, SpreadEncodingsEqualBruteForce) {
  int solved = 0;
  for (uint64_t seed = 0; seed < 1000 && !HasFailure(); ++seed) {
    const int number = static_cast<int>(seed);
    const Problem problem =
        RandomProblem(seed, {.nodes = 2 + number % 5, .states = 1 + number % 3});
    const Result<Solution> expected = Solve(problem, {.method = "brute"});
    if (!expected.ok()) continue;
    const Result<Solution> got = SolveSpread(problem);
    ASSERT_TRUE(got.ok()) << got.status().message() << '\n' << Print(problem);
    EXPECT_LE(got->cost, expected->cost + 1e-9) << Print(problem);
    if (!Evaluate(problem, *got).ok()) continue;
    EXPECT_NEAR(got->cost, expected->cost, 1e-9) << Print(problem);
    ++solved;
  }
  EXPECT_GT(solved, 700);
}

/// A binary tree of sums, every path down it a group: groups that start at each leaf and end at the
/// root make one wide table of all their owners, and a narrow one of neighbours.
Problem TreeOfPaths(int levels) {
  Problem problem;
  const int leaves = 1 << levels, nodes = leaves - 1;
  // Node i reads the tensors of its children, 2i + 1 and 2i + 2 counted from the root 0.
  const auto tensor_of = [&](int place) { return static_cast<int>(2 * leaves - 2 - place); };
  const auto node_of = [&](int place) { return nodes - 1 - place; };
  problem.nodes = nodes;
  for (int t = 0; t < 2 * leaves - 1; ++t) {
    Tensor& tensor = problem.tensors.emplace_back();
    tensor.states = {"a", "b"};
    tensor.conversions = {{0, 1, 1.0 + t % 3}, {1, 0, 1.5}};
    if (t < leaves) tensor.given = {t % 2};
  }
  problem.tensors[static_cast<size_t>(tensor_of(0))].wanted = {0};
  for (int first = 0; first < nodes; ++first) {
    Group path;
    for (int place = first;; place = (place - 1) / 2) {
      const bool starts = place == first;
      path.nodes.push_back(node_of(place));
      const int left = 2 * place + 1, right = 2 * place + 2;
      const int from = path.nodes.size() < 2 ? -1 : nodes - 1 - path.nodes[path.nodes.size() - 2];
      if (starts || from != left) path.inputs.push_back(tensor_of(left));
      if (starts || from != right) path.inputs.push_back(tensor_of(right));
      Group group = path;
      group.name = "path " + std::to_string(first) + " to " + std::to_string(place);
      group.outputs = {tensor_of(place)};
      for (int state = 0; state < 2; ++state) {
        group.choices.push_back({.name = "choice",
                                 .inputs = std::vector<int>(group.inputs.size(), state),
                                 .outputs = {state},
                                 .cost = 3.0 + (first * 7 + place * 5 + state * 3) % 11});
      }
      problem.groups.push_back(std::move(group));
      if (place == 0) break;
    }
  }
  return problem;
}

TEST(Exact, TreesOfOverlappingPathsAreNarrow) {
  const Problem problem = TreeOfPaths(5);
  ASSERT_TRUE(Validate(problem).ok()) << Validate(problem).message();
  const Kept kept = KeepAll(problem);
  const Result<Encoding> owners = Encode(problem, kept, {});
  const Result<Encoding> spread = Encode(problem, kept, {}, Conversions::kShared, Detail::kSpread);
  ASSERT_TRUE(owners.ok() && spread.ok());
  EXPECT_LT(FindOrder(spread->network).sums * 10, FindOrder(owners->network).sums);
  Report report;
  const Result<Solution> got = Solve(problem, {}, &report);
  ASSERT_TRUE(got.ok()) << got.status().message();
  EXPECT_TRUE(got->optimal());
  EXPECT_NEAR(got->cost, SolveSpread(problem)->cost, 1e-9);
  // Without the long way round: the same tree, small enough for brute force.
  ExpectEqualsBruteForce(TreeOfPaths(2), "auto");
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
