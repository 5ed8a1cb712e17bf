// What must hold between the solutions of related problems, and between methods.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "solver/problem/evaluate.h"
#include "solver/solve.h"
#include "tests/solver/graph_shapes.h"
#include "tests/solver/random_problem.h"

namespace fettle::solver {
namespace {

constexpr double kTolerance = 1e-9;

/// Larger than brute force can do.
Problem MediumProblem(uint64_t seed) {
  return RandomProblem(
      seed, {.nodes = 12, .states = 4, .choices = 5, .has_errors = true, .has_bytes = true});
}

/// Calls `check(problem, solution)` for random problems that have a solution.
template <typename Check>
void ForSolvable(int count, Check check) {
  int solved = 0;
  for (uint64_t seed = 0; solved < count && seed < 1000; ++seed) {
    const Problem problem = MediumProblem(seed);
    const Result<Solution> solution = Solve(problem, {});
    if (!solution.ok()) continue;
    ++solved;
    ASSERT_TRUE(solution->optimal());
    check(problem, *solution);
    if (testing::Test::HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
  EXPECT_EQ(solved, count);
}

TEST(Metamorphic, MoreChoicesNeverCostMore) {
  std::mt19937_64 random(7);
  ForSolvable(150, [&](const Problem& problem, const Solution& solution) {
    Problem more = problem;
    Group& group = more.groups[random() % more.groups.size()];
    Choice choice = group.choices.front();
    for (size_t i = 0; i < choice.inputs.size(); ++i) {
      choice.inputs[i] = static_cast<int>(
          random() % more.tensors[static_cast<size_t>(group.inputs[i])].states.size());
    }
    choice.cost = static_cast<double>(random() % 20);
    group.choices.push_back(choice);
    const Result<Solution> got = Solve(more, {});
    ASSERT_TRUE(got.ok());
    EXPECT_LE(got->cost, solution.cost + kTolerance);
  });
}

TEST(Metamorphic, ScaledCostsScaleTheOptimum) {
  ForSolvable(100, [](const Problem& problem, const Solution& solution) {
    Problem scaled = problem;
    for (Tensor& tensor : scaled.tensors) {
      for (Conversion& conversion : tensor.conversions) conversion.cost *= 8;
    }
    for (Group& group : scaled.groups) {
      for (Choice& choice : group.choices) choice.cost *= 8;
    }
    const Result<Solution> got = Solve(scaled, {});
    ASSERT_TRUE(got.ok());
    EXPECT_NEAR(got->cost, 8 * solution.cost, kTolerance);
  });
}

/// Numbers groups, choices, tensors and states anew.
Problem Relabelled(const Problem& problem, std::mt19937_64& random) {
  const auto shuffled = [&](size_t count) {
    std::vector<int> order(count);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    return order;
  };
  Problem other = problem;
  const std::vector<int> tensor_to = shuffled(problem.tensors.size());
  std::vector<std::vector<int>> state_to;
  for (size_t t = 0; t < problem.tensors.size(); ++t) {
    const Tensor& from = problem.tensors[t];
    state_to.push_back(shuffled(from.states.size()));
    const std::vector<int>& to = state_to.back();
    Tensor& tensor = other.tensors[static_cast<size_t>(tensor_to[t])];
    tensor = from;
    for (size_t s = 0; s < to.size(); ++s) {
      tensor.states[static_cast<size_t>(to[s])] = from.states[s];
      if (!from.bytes.empty()) tensor.bytes[static_cast<size_t>(to[s])] = from.bytes[s];
    }
    for (Conversion& conversion : tensor.conversions) {
      conversion.from = to[static_cast<size_t>(conversion.from)];
      conversion.to = to[static_cast<size_t>(conversion.to)];
    }
    for (int& state : tensor.given) state = to[static_cast<size_t>(state)];
    for (int& state : tensor.wanted) state = to[static_cast<size_t>(state)];
    std::shuffle(tensor.conversions.begin(), tensor.conversions.end(), random);
  }
  for (Group& group : other.groups) {
    for (Choice& choice : group.choices) {
      for (size_t i = 0; i < choice.inputs.size(); ++i) {
        const auto t = static_cast<size_t>(group.inputs[i]);
        choice.inputs[i] = state_to[t][static_cast<size_t>(choice.inputs[i])];
      }
      for (size_t i = 0; i < choice.outputs.size(); ++i) {
        const auto t = static_cast<size_t>(group.outputs[i]);
        choice.outputs[i] = state_to[t][static_cast<size_t>(choice.outputs[i])];
      }
    }
    for (int& tensor : group.inputs) tensor = tensor_to[static_cast<size_t>(tensor)];
    for (int& tensor : group.outputs) tensor = tensor_to[static_cast<size_t>(tensor)];
    std::shuffle(group.choices.begin(), group.choices.end(), random);
  }
  std::shuffle(other.groups.begin(), other.groups.end(), random);
  return other;
}

TEST(Metamorphic, NumberingDoesNotMatter) {
  std::mt19937_64 random(11);
  ForSolvable(150, [&](const Problem& problem, const Solution& solution) {
    const Result<Solution> got = Solve(Relabelled(problem, random), {});
    ASSERT_TRUE(got.ok()) << got.status().message();
    EXPECT_NEAR(got->cost, solution.cost, kTolerance);
  });
}

TEST(Metamorphic, LooserLimitsNeverCostMore) {
  ForSolvable(30, [](const Problem& problem, const Solution& solution) {
    Cost before = std::numeric_limits<Cost>::infinity();
    for (const double share : {0.5, 0.75, 1.0}) {
      Problem limited = problem;
      limited.error_budget = share * solution.error;
      const Result<Solution> got = Solve(limited, {.seconds = 0.5});
      if (!got.ok()) continue;
      EXPECT_GE(got->cost, solution.cost - kTolerance);
      if (got->optimal()) {
        EXPECT_LE(got->cost, before + kTolerance);
      }
      before = got->cost;
    }
    EXPECT_NEAR(before, solution.cost, kTolerance);
  });
}

TEST(Methods, ExactOnesAgreeAndNoneIsBetter) {
  int pbqp = 0, capped = 0, single = 0;
  ForSolvable(150, [&](const Problem& problem, const Solution& solution) {
    for (const std::string_view method : {"ve", "sweep"}) {
      const Result<Solution> got = Solve(problem, {.method = method});
      ASSERT_TRUE(got.ok()) << got.status().message();
      EXPECT_NEAR(got->cost, solution.cost, kTolerance) << method;
    }
    const auto compare = [&](std::string_view method, int& count) {
      const Result<Solution> got = Solve(problem, {.method = method});
      if (!got.ok()) return;
      ++count;
      EXPECT_GE(got->cost, solution.cost - kTolerance) << method;
      EXPECT_LE(got->bound, solution.cost + kTolerance) << method;
      const Result<Cost> cost = Evaluate(problem, *got);
      ASSERT_TRUE(cost.ok()) << cost.status().message();
      EXPECT_NEAR(*cost, got->cost, kTolerance);
    };
    compare("pbqp", pbqp);
    compare("capped", capped);
    for (const std::string_view method : {"single:a", "single:b", "single:c", "single:d"}) {
      compare(method, single);
    }
  });
  EXPECT_GT(pbqp, 100);
  EXPECT_GT(capped, 140);
  EXPECT_GT(single, 100);
}

TEST(Methods, BoundHoldsWhereTablesDoNotFit) {
  int open = 0;
  ForSolvable(60, [&](const Problem& problem, const Solution& solution) {
    const Result<Solution> got = Solve(problem, {.seconds = 1, .table_bytes = 64});
    ASSERT_TRUE(got.ok()) << got.status().message();
    EXPECT_LE(got->bound, solution.cost + kTolerance);
    EXPECT_GE(got->cost, solution.cost - kTolerance);
    open += got->optimal() ? 0 : 1;
  });
  EXPECT_LT(open, 30);
}

TEST(Methods, UnknownOneIsRefused) {
  const Result<Solution> got = Solve(MediumProblem(0), {.method = "magic"});
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.status().code(), StatusCode::kInvalidArgument);
}

TEST(Shapes, AreSolvedExactly) {
  for (const bool fused : {false, true}) {
    for (const ShapedProblem& shaped : ShapedProblems(1, fused)) {
      Report report;
      const Result<Solution> got = Solve(shaped.problem, {}, &report);
      ASSERT_TRUE(got.ok()) << shaped.name << ": " << got.status().message();
      EXPECT_TRUE(got->optimal()) << shaped.name << ' ' << got->gap();
      const Result<Cost> cost = Evaluate(shaped.problem, *got);
      ASSERT_TRUE(cost.ok()) << shaped.name << ": " << cost.status().message();
      EXPECT_NEAR(*cost, got->cost, 1e-6);
      EXPECT_LT(report.choices_after, report.choices_before);
      for (int layout = 0; layout < 4; ++layout) {
        const std::string method = "single:layout" + std::to_string(layout);
        const Result<Solution> single = Solve(shaped.problem, {.method = method});
        ASSERT_TRUE(single.ok()) << single.status().message();
        EXPECT_GE(single->cost, got->cost - 1e-6) << shaped.name << ' ' << method;
      }
    }
  }
}

}  // namespace
}  // namespace fettle::solver
