// Strategies on spaces whose best configuration is known, with a clock that only measuring moves.
#include "tuner/search/search.h"

#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "tests/tuner/range.h"

namespace fettle::tuner {
namespace {

using ::testing::HasSubstr;

/// 5 x 6 x 4 with a diagonal band cut out.
SearchSpace SmallSpace() {
  return SearchSpace::Create({Range("A", 5), Range("B", 6), Range("C", 4)}, {"(A + B) % 4 != 3"})
      .value();
}
constexpr int kSmallValid = 92;

/// One valley; the best is A = 3, B = 2, C = 1 with 1 ms.
double Bowl(const Point& point) {
  return 1 + std::pow(point[0] - 3, 2) + std::pow(point[1] - 2, 2) + std::pow(point[2] - 1, 2);
}

/// What a search asked for, until it ends.
std::vector<Evaluation> RunToEnd(
    Search& search, const std::function<std::optional<double>(const Point&)>& measure) {
  while (const std::optional<Point> point = search.Ask()) {
    EXPECT_TRUE(search.history().space().Valid(*point));
    EXPECT_FALSE(search.history().Contains(*point));
    search.Tell(measure(*point));
  }
  return search.history().evaluations();
}

std::unique_ptr<Search> Make(SearchOptions options, SearchSpace space = SmallSpace()) {
  return Search::Create(std::move(space), std::move(options)).value();
}

std::vector<Point> PointsOf(const std::vector<Evaluation>& evaluations) {
  std::vector<Point> points;
  for (const Evaluation& evaluation : evaluations) points.push_back(evaluation.point);
  return points;
}

std::vector<std::string> AllStrategies() {
  std::vector<std::string> names;
  for (const StrategyRow& row : Strategies()) names.emplace_back(row.name);
  return names;
}

class EveryStrategy : public ::testing::TestWithParam<std::string> {
 protected:
  SearchOptions Options(uint64_t seed = 1, int64_t evaluations = 1000) const {
    SearchOptions options;
    options.strategy = GetParam();
    options.seed = seed;
    options.max_evaluations = evaluations;
    return options;
  }
};

INSTANTIATE_TEST_SUITE_P(Search, EveryStrategy, ::testing::ValuesIn(AllStrategies()),
                         [](const auto& info) { return info.param; });

TEST_P(EveryStrategy, FindsTheOptimumAndEndsWhenAllIsMeasured) {
  const auto search = Make(Options());
  const std::vector<Evaluation> evaluations = RunToEnd(*search, Bowl);
  EXPECT_EQ(evaluations.size(), static_cast<size_t>(kSmallValid));
  EXPECT_EQ(search->end(), Search::End::kExhausted);
  EXPECT_EQ(search->best()->point, (Point{3, 2, 1}));
}

TEST_P(EveryStrategy, IsTheSameForEqualSeeds) {
  const auto run = [&](uint64_t seed) {
    const auto search = Make(Options(seed, 40));
    return PointsOf(RunToEnd(*search, Bowl));
  };
  EXPECT_EQ(run(7), run(7));
  if (GetParam() != "full") {
    EXPECT_NE(run(7), run(8));
  }
}

TEST_P(EveryStrategy, GoesOnFromAJournalAsIfNeverStopped) {
  const SearchSpace space = SmallSpace();
  SearchOptions options = Options(3, 60);
  options.seeds = {{0, 0, 0}, {4, 1, 3}};
  const std::vector<Evaluation> whole = RunToEnd(*Make(options), Bowl);
  for (size_t stopped : {0u, 1u, 2u, 7u, 30u, 59u, 60u}) {
    SearchOptions resumed = options;
    resumed.journal.assign(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(stopped));
    const auto search = Make(resumed);
    size_t measured = 0;
    const auto count = [&](const Point& point) {
      ++measured;
      return Bowl(point);
    };
    EXPECT_EQ(PointsOf(RunToEnd(*search, count)), PointsOf(whole));
    EXPECT_EQ(measured, whole.size() - stopped);
  }
}

TEST_P(EveryStrategy, MeasuresNothingOfAnotherRunsJournalAgain) {
  SearchOptions options = Options(5);
  options.journal = RunToEnd(*Make(Options(6, 30)), Bowl);
  std::set<Point> journalled;
  for (const Evaluation& evaluation : options.journal) journalled.insert(evaluation.point);
  const auto search = Make(options);
  while (const std::optional<Point> point = search->Ask()) {
    EXPECT_FALSE(journalled.contains(*point));
    search->Tell(Bowl(*point));
  }
  EXPECT_EQ(search->history().size(), static_cast<size_t>(kSmallValid));
}

TEST_P(EveryStrategy, MeasuresValidSeedsFirst) {
  SearchOptions options = Options(1, 10);
  options.seeds = {{3, 2, 0}, {1, 2, 0}, {3, 2, 0}, {0, 0}, {9, 9, 9}, {0, 0, 3}};
  const std::vector<Point> points = PointsOf(RunToEnd(*Make(options), Bowl));
  ASSERT_EQ(points.size(), 10u);
  EXPECT_EQ(points[0], (Point{3, 2, 0}));
  EXPECT_EQ(points[1], (Point{0, 0, 3}));
}

TEST_P(EveryStrategy, FailuresNeverWin) {
  // Two thirds fail, the rest as before; not a number, zero and less are failures too.
  const auto flaky = [](const Point& point) -> std::optional<double> {
    switch ((point[0] + point[2]) % 3) {
      case 0: return std::nullopt;
      case 1: return point[1] % 2 == 0 ? NAN : -1;
      default: return Bowl(point);
    }
  };
  const auto search = Make(Options());
  EXPECT_EQ(RunToEnd(*search, flaky).size(), static_cast<size_t>(kSmallValid));
  double best = INFINITY;
  for (const Evaluation& evaluation : search->history().evaluations())
    if (evaluation.ms) best = std::min(best, *evaluation.ms);
  EXPECT_EQ(*search->best()->ms, best);
  EXPECT_EQ((search->best()->point[0] + search->best()->point[2]) % 3, 2);
}

TEST_P(EveryStrategy, EndsWhereEverythingFails) {
  const auto search = Make(Options());
  const auto fail = [](const Point&) { return std::optional<double>(); };
  EXPECT_EQ(RunToEnd(*search, fail).size(), static_cast<size_t>(kSmallValid));
  EXPECT_EQ(search->best(), nullptr);
}

TEST_P(EveryStrategy, KeepsItsBudgetOfSeconds) {
  int64_t now = 0;
  SearchOptions options = Options();
  options.max_seconds = 5;
  options.now_ns = [&now] { return now; };
  const auto search = Make(options);
  const auto measure = [&now](const Point& point) {
    now += 300000000 + 1000000 * point[0];
    return Bowl(point);
  };
  const size_t count = RunToEnd(*search, measure).size();
  EXPECT_EQ(search->end(), Search::End::kSeconds);
  EXPECT_LE(now, 5000000000);
  EXPECT_GE(count, 14u);
}

TEST_P(EveryStrategy, KeepsItsBudgetOfEvaluations) {
  const auto search = Make(Options(1, 13));
  EXPECT_EQ(RunToEnd(*search, Bowl).size(), 13u);
  EXPECT_EQ(search->end(), Search::End::kEvaluations);
  EXPECT_TRUE(RunToEnd(*Make(Options(1, 0)), Bowl).empty());
}

TEST_P(EveryStrategy, CopesWithASingleConfiguration) {
  const auto search = Make(Options(), SearchSpace::Create({Range("A", 1)}).value());
  EXPECT_EQ(RunToEnd(*search, [](const Point&) { return 1.0; }).size(), 1u);
}

TEST_P(EveryStrategy, CopesWithHugeSpaces) {
  std::vector<Parameter> parameters;
  for (int i = 0; i < 9; ++i) parameters.push_back(Range(fmt::format("p{}", i), 90));
  const auto space = SearchSpace::Create(parameters, {"p0 + p1 == p2", "p3 % 7 == p4 % 7"});
  const auto search = Make(Options(1, 40), space.value());
  const auto measure = [](const Point& point) { return 1.0 + point[0] + point[5]; };
  EXPECT_EQ(RunToEnd(*search, measure).size(), 40u);
}

TEST(SearchTest, AskIsTheSameUntilTell) {
  const auto search = Make({});
  const std::optional<Point> point = search->Ask();
  EXPECT_EQ(search->Ask(), point);
  search->Tell(1);
  EXPECT_NE(search->Ask(), point);
}

TEST(SearchTest, LocalSearchNeedsFewEvaluations) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SearchOptions options;
    options.seed = seed;
    options.max_evaluations = 40;
    const auto search = Make(options);
    RunToEnd(*search, Bowl);
    EXPECT_EQ(*search->best()->ms, 1) << "seed " << seed;
  }
}

TEST(SearchTest, LocalSearchLooksAtEachCodePathFromAKnownConfiguration) {
  // Three of the four paths are valid; a parameter with three values is none.
  const SearchSpace space =
      SearchSpace::Create({Range("A", 3), Range("F", 2), Range("G", 2)}, {"F + G < 2"}).value();
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SearchOptions options;
    options.seed = seed;
    options.max_evaluations = 3;
    options.seeds = {{2, 0, 0}};
    const auto slower = [](const Point& point) { return 1.0 + point[1] + point[2]; };
    const std::vector<Point> points = PointsOf(RunToEnd(*Make(options, space), slower));
    EXPECT_THAT(points,
                ::testing::UnorderedElementsAre(Point{2, 0, 0}, Point{2, 1, 0}, Point{2, 0, 1}))
        << "seed " << seed;
  }
}

TEST(SearchTest, RefusesUnknownStrategiesAndNegativeBudgets) {
  SearchOptions options;
  options.strategy = "magic";
  EXPECT_THAT(Search::Create(SmallSpace(), options).status().message(),
              HasSubstr("expected local|portfolio|random|full"));
  options.strategy = "local";
  options.max_evaluations = -1;
  EXPECT_FALSE(Search::Create(SmallSpace(), options).ok());
  options.max_evaluations = 1;
  options.max_seconds = NAN;
  EXPECT_FALSE(Search::Create(SmallSpace(), options).ok());
}

}  // namespace
}  // namespace fettle::tuner
