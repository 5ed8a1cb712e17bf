// The text form parses back exactly and takes no harm from any other text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "solver/solve.h"
#include "tests/solver/random_problem.h"

namespace fettle::solver {
namespace {

using testing::HasSubstr;

constexpr char kSmall[] = R"(problem 1
nodes 1
tensor "x"
  state "a"
  state "b" # comment
  convert 0 1 cost 2.5 error 0.25
  given 0
tensor "y"
  state "a"
  wanted any
group "conv" nodes 0 reads 0 writes 1
  choice "k" cost 5 workspace 16 reads 1 writes 0
)";

std::string Replaced(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Text, ParsesBackExactly) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Problem problem =
        RandomProblem(seed, {.nodes = 6, .has_errors = true, .has_bytes = seed % 2 == 0});
    problem.error_budget = seed % 3 == 0 ? 0.1 : -1;
    problem.memory_limit = seed % 4 == 0 ? 12345678901 : -1;
    problem.groups[0].choices[0].cost = 0.1 + 1e-17 * static_cast<double>(seed);
    problem.groups[0].choices[0].name = "odd \"name\" \\ \n\t# end";
    problem.tensors[0].states[0] = "";
    const std::string text = Print(problem);
    const Result<Problem> parsed = Parse(text);
    ASSERT_TRUE(parsed.ok()) << parsed.status().message() << '\n' << text;
    EXPECT_EQ(Print(*parsed), text);
    EXPECT_EQ(parsed->groups[0].choices[0].cost, problem.groups[0].choices[0].cost);
    EXPECT_EQ(parsed->groups[0].choices[0].name, problem.groups[0].choices[0].name);
  }
}

TEST(Text, SolutionsParseBackExactly) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Problem problem = RandomProblem(seed, {.nodes = 6, .has_errors = true});
    const Result<Solution> solution = Solve(problem, {});
    if (!solution.ok()) continue;
    const Result<Solution> parsed = ParseSolution(problem, Print(problem, *solution));
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    EXPECT_EQ(parsed->picks, solution->picks);
    EXPECT_EQ(parsed->conversions, solution->conversions);
    EXPECT_EQ(parsed->cost, solution->cost);
    EXPECT_EQ(parsed->error, solution->error);
    EXPECT_EQ(parsed->bound, solution->bound);
  }
}

TEST(Text, LeavesOutWhatIsZero) {
  const Result<Problem> problem = Parse(kSmall);
  ASSERT_TRUE(problem.ok()) << problem.status().message();
  EXPECT_THAT(Print(*problem), testing::Not(HasSubstr("bytes")));
  EXPECT_THAT(Print(*problem), HasSubstr("choice \"k\" cost 5 workspace 16 reads 1 writes 0\n"));
}

struct BadText {
  std::string_view from, to;
  std::string_view message;
};

TEST(Text, NamesTheLineOfAMistake) {
  const BadText kBad[] = {
      {"problem 1", "problem 2", "line 1: version 2"},
      {"problem 1", "solution 1", "line 1: expected 'problem 1'"},
      {"nodes 1", "nodes", "line 2: expected a number, got ''"},
      {"nodes 1", "nodes 99999999999", "line 2: expected a number"},
      {"nodes 1", "nodes 2000000000", "node 1: no group with a choice holds it"},
      {"nodes 1", "nodes -1", "-1 nodes"},
      {"nodes 1", "error_budget nan", "line 2: expected an amount"},
      {"cost 2.5", "cost inf", "line 6: expected an amount"},
      {"cost 2.5", "cost -1", "line 6: expected an amount"},
      {"cost 2.5", "cost 1e999", "line 6: expected a number"},
      {"cost 2.5", "cost 2.5x", "line 6: expected a number, got '2.5x'"},
      {"convert 0 1", "convert 0 7", "tensor 0 'x': conversion 0: no such state"},
      {"convert 0 1", "convert 1 1", "from a state to itself"},
      {"given 0", "given 3", "tensor 0 'x': no state 3"},
      {"given 0", "given 0 0", "given or wanted twice"},
      {"given 0", "given 0 x", "line 7: unexpected 'x'"},
      {"state \"b\"", "state \"a\"", "two states have one name"},
      {"state \"b\"", "state \"b\" bytes 3", "line 5: either all states"},
      {"state \"b\"", "state \"b", "line 5: a name does not end"},
      {"state \"b\"", "state \"b\\xzz\"", "line 5: bad escape"},
      {"wanted any", "wanted all", "line 10: unexpected 'all'"},
      {"nodes 0", "nodes 1", "no node 1"},
      {"nodes 0", "nodes 0 0", "a node is listed twice"},
      {"nodes 0", "nodes", "no node"},
      {"reads 0 writes 1", "reads 9 writes 1", "no tensor 9"},
      {"reads 0 writes 1", "reads 1 writes 1", "reads tensor 1, which it writes"},
      {"reads 0 writes 1", "reads 0 writes 0", "writes tensor 0, which is given"},
      {"reads 1 writes 0", "reads 1", "choice 0: 0 states for 1 outputs"},
      {"reads 1 writes 0", "reads 2 writes 0", "choice 0: inputs 0: no state 2"},
      {"workspace 16", "workspace -4", "workspace -4 is out of range"},
      {"workspace 16", "workspace 9223372036854775807", "out of range"},
      {"group \"conv\"", "choice \"conv\"", "line 11: a choice belongs to a group"},
      {"  choice \"k\"", "  state \"k\"", "line 12: unexpected 'state'"},
  };
  for (const BadText& bad : kBad) {
    const Result<Problem> parsed = Parse(Replaced(kSmall, bad.from, bad.to));
    ASSERT_FALSE(parsed.ok()) << bad.to;
    EXPECT_EQ(parsed.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(parsed.status().message(), HasSubstr(bad.message)) << bad.to;
  }
  EXPECT_FALSE(Parse("").ok());
}

TEST(Text, RefusesTwoMakersOfOneTensor) {
  const std::string text =
      Replaced(Replaced(kSmall, "nodes 1", "nodes 2"), "group \"conv\"",
               "group \"other\" nodes 1 writes 1\n  choice \"k\" cost 1 writes "
               "0\ngroup \"conv\"");
  const Result<Problem> parsed = Parse(text);
  ASSERT_FALSE(parsed.ok());
  EXPECT_THAT(parsed.status().message(), HasSubstr("no node is in all groups that write tensor 1"));
}

TEST(Text, TakesNoHarmFromDamage) {
  const Problem problem = RandomProblem(3, {.nodes = 5, .has_errors = true, .has_bytes = true});
  const std::string text = Print(problem);
  std::mt19937_64 random(1);
  int parsed = 0;
  for (int i = 0; i < 4000; ++i) {
    std::string damaged = text;
    for (uint64_t edits = random() % 3 + 1; edits > 0; --edits) {
      const size_t at = random() % damaged.size();
      switch (random() % 4) {
        case 0: damaged[at] = static_cast<char>(random() % 256); break;
        case 1: damaged.resize(at + 1); break;
        case 2: damaged.erase(at, random() % 8 + 1); break;
        default:
          damaged.insert(at, damaged.substr(random() % damaged.size(), random() % 20));
          break;
      }
    }
    const Result<Problem> result = Parse(damaged);
    if (!result.ok()) {
      EXPECT_EQ(result.status().code(), StatusCode::kInvalidArgument);
      continue;
    }
    ++parsed;
    EXPECT_EQ(Print(*Parse(Print(*result))), Print(*result));
    (void)Solve(*result, {.method = "capped"});
  }
  EXPECT_GT(parsed, 20);
}

TEST(Text, RefusesSolutionsThatDoNotFit) {
  const Result<Problem> problem = Parse(kSmall);
  ASSERT_TRUE(problem.ok());
  const std::string good = "solution 1\ncost 7.5\nbound 7.5\nerror 0.25\npick 0 0\nconvert 0 0\n";
  ASSERT_TRUE(ParseSolution(*problem, good).ok());
  const BadText kBad[] = {
      {"pick 0 0", "pick 0 1", "group 0 has no choice 1"},
      {"pick 0 0", "pick -1 0", "no group -1"},
      {"pick 0 0", "pick 0 0\npick 0 0", "node 0 is computed 2 times"},
      {"pick 0 0\n", "", "node 0 is computed 0 times"},
      {"convert 0 0\n", "", "reads tensor 0 in state 1"},
      {"convert 0 0", "convert 1 0", "tensor 1: no conversion 0"},
      {"convert 0 0", "convert 5 0", "no tensor 5"},
      {"cost 7.5", "cost x", "line 2: expected a number"},
      {"error 0.25", "mistake 0.25", "line 4: unexpected 'mistake'"},
  };
  for (const BadText& bad : kBad) {
    const Result<Solution> parsed = ParseSolution(*problem, Replaced(good, bad.from, bad.to));
    ASSERT_FALSE(parsed.ok()) << bad.to;
    EXPECT_THAT(parsed.status().message(), HasSubstr(bad.message)) << bad.to;
  }
}

}  // namespace
}  // namespace fettle::solver
