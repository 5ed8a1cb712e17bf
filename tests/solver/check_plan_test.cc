// scripts/check-plan, which shares no code with the solver, agrees with it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "solver/solve.h"
#include "tests/solver/graph_shapes.h"
#include "tests/solver/random_problem.h"
#include "tests/test_folder.h"

namespace fettle::solver {
namespace {

class CheckPlan : public testing::Test {
 protected:
  void SetUp() override {
    if (std::system("python3 -c '' > /dev/null 2>&1") != 0) GTEST_SKIP() << "no python3";
  }

  /// True where the script accepts the solution.
  bool Accepts(const Problem& problem, const Solution& solution) {
    const std::string problem_file = folder_.file("problem.txt");
    const std::string solution_file = folder_.file("solution.txt");
    EXPECT_TRUE(WriteTextFile(problem_file, Print(problem)).ok());
    EXPECT_TRUE(WriteTextFile(solution_file, Print(problem, solution)).ok());
    const std::string command =
        fmt::format("python3 '{}/scripts/check-plan' '{}' '{}' > '{}' 2>&1", FETTLE_SOURCE_DIR,
                    problem_file, solution_file, folder_.file("output.txt"));
    return std::system(command.c_str()) == 0;
  }
  std::string Output() const {
    std::ifstream file(folder_.file("output.txt"));
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

  TestFolder folder_;
};

TEST_F(CheckPlan, AcceptsOptimaOfRandomProblems) {
  int checked = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Problem problem = RandomProblem(
        seed,
        {.nodes = seed % 2 == 0 ? 5 : 10, .has_errors = seed % 4 == 0, .has_bytes = seed % 4 == 1});
    if (seed % 4 == 0) problem.error_budget = 2;
    if (seed % 4 == 1) problem.memory_limit = 60;
    const Result<Solution> solution = Solve(problem, {});
    if (!solution.ok()) continue;
    ++checked;
    ASSERT_TRUE(Accepts(problem, *solution)) << Output() << Print(problem);
  }
  EXPECT_GT(checked, 20);
}

TEST_F(CheckPlan, AcceptsOptimaOfNetworkShapes) {
  for (const ShapedProblem& shaped : ShapedProblems(2, true)) {
    if (shaped.problem.nodes > 100) continue;
    const Result<Solution> solution = Solve(shaped.problem, {});
    ASSERT_TRUE(solution.ok()) << shaped.name;
    ASSERT_TRUE(Accepts(shaped.problem, *solution)) << shaped.name << ": " << Output();
  }
}

TEST_F(CheckPlan, RefusesWhatIsWrong) {
  int worse = 0;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const Problem problem = RandomProblem(seed, {.nodes = 4});
    const Result<Solution> best = Solve(problem, {});
    if (!best.ok()) continue;
    Solution wrong = *best;
    wrong.cost += 1;
    EXPECT_FALSE(Accepts(problem, wrong));
    wrong = *best;
    wrong.picks.pop_back();
    EXPECT_FALSE(Accepts(problem, wrong));
    wrong = *best;
    wrong.bound = best->cost + 1;
    EXPECT_FALSE(Accepts(problem, wrong));
    const Result<Solution> single = Solve(problem, {.method = "single:a"});
    if (!single.ok() || single->cost == best->cost) continue;
    wrong = *single;
    wrong.bound = wrong.cost;
    EXPECT_FALSE(Accepts(problem, wrong));
    ++worse;
  }
  EXPECT_GT(worse, 2);
}

}  // namespace
}  // namespace fettle::solver
