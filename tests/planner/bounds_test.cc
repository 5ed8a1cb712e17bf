// What a plan may cost beside time reaches the solver.
#include <gtest/gtest.h>

#include <algorithm>

#include "device/cpu/cpu_device.h"
#include "ir/text.h"
#include "ops/op.h"
#include "planner/extract.h"
#include "solver/problem/live_bytes.h"
#include "solver/solve.h"
#include "tests/planner/random_costs.h"

namespace fettle::planner {
namespace {

/// Costs drawn by chance; the faster an entry, the more it works in and the more it loses.
class GreedyCosts final : public CostSource {
 public:
  EntryCost Kernel(const Kind& kind, const Entry& entry) override {
    EntryCost cost = random_.Kernel(kind, entry);
    cost.workspace = static_cast<int64_t>(1e5 / cost.us);
    cost.error = 0.1 / cost.us;
    return cost;
  }
  EntryCost Conversion(const Shape& shape, DType dtype, const State& from, const State& to,
                       int threads) override {
    return random_.Conversion(shape, dtype, from, to, threads);
  }

 private:
  RandomCosts random_{7};
};

class BoundsTest : public testing::Test {
 protected:
  BoundsTest() {
    EXPECT_TRUE(ops::InferGraph(graph_).ok());
    catalogue_ = ListCatalogue(graph_, device_, {.threads = 2}).value();
  }

  Extracted ExtractWith(const Bounds& bounds) {
    return Extract(graph_, catalogue_, costs_, 2, {}, bounds).value();
  }
  static solver::Solution Best(const Extracted& extracted) {
    return solver::Solve(extracted.problem, {}).value();
  }
  static int64_t Peak(const Extracted& extracted, const solver::Solution& solution) {
    const std::vector<int64_t> live = solver::LiveBytes(extracted.problem, solution);
    return *std::max_element(live.begin(), live.end());
  }

  CpuDevice device_{std::make_shared<ThreadPool>(2)};
  ir::Graph graph_ = ops::Parse(kResidual).value();
  Catalogue catalogue_;
  GreedyCosts costs_;
};

TEST_F(BoundsTest, ChoicesSayWhatTheyWorkIn) {
  const Extracted extracted = ExtractWith({});
  EXPECT_LT(extracted.problem.memory_limit, 0);
  EXPECT_LT(extracted.problem.error_budget, 0);
  int64_t most = 0;
  for (const solver::Group& group : extracted.problem.groups)
    for (const solver::Choice& choice : group.choices) most = std::max(most, choice.workspace);
  EXPECT_GT(most, 10'000);
}

TEST_F(BoundsTest, LiveBytesStayBelowTheLimit) {
  const Extracted free = ExtractWith({});
  const solver::Solution fastest = Best(free);
  const int64_t peak = Peak(free, fastest);
  int kept = 0;
  for (double share : {0.95, 0.9, 0.8, 0.7}) {
    const auto limit = static_cast<int64_t>(share * static_cast<double>(peak));
    const Extracted limited = ExtractWith({.memory_limit = limit});
    const Result<solver::Solution> solution = solver::Solve(limited.problem, {});
    if (!solution.ok()) {
      EXPECT_EQ(solution.status().code(), StatusCode::kUnsupported);
      continue;
    }
    ++kept;
    EXPECT_LE(Peak(limited, *solution), limit);
    EXPECT_GE(solution->cost, fastest.cost);
  }
  EXPECT_GT(kept, 0);
}

TEST_F(BoundsTest, ErrorsStayWithinTheBudget) {
  const solver::Solution fastest = Best(ExtractWith({}));
  ASSERT_GT(fastest.error, 0);
  const double budget = 0.7 * fastest.error;
  const Extracted limited = ExtractWith({.error_budget = budget});
  EXPECT_EQ(limited.problem.error_budget, budget);
  const solver::Solution solution = Best(limited);
  EXPECT_LE(solution.error, budget * (1 + 1e-9));
  EXPECT_GE(solution.cost, fastest.cost);
}

TEST_F(BoundsTest, ABudgetThatNothingCanBreakIsNoLimit) {
  EXPECT_LT(ExtractWith({.error_budget = 1e6}).problem.error_budget, 0);
}

}  // namespace
}  // namespace fettle::planner
