// Tuning small graphs for real: complete, repeatable, bounded, resumed from the store.
#include "tuner/network/tune.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ir/text.h"
#include "ops/op.h"
#include "planner/planner.h"
#include "tests/tuner/known_machine.h"

namespace fettle::tuner {
namespace {

constexpr std::string_view kNet = R"(input %x: f32[1x16x14x14]
const %w1: f32[32x16x3x3]
const %w2: f32[32x1x3x3]
const %w3: f32[16x32x1x1]
%a = Conv(%x, %w1, _) {pads=[1,1,1,1]}
%b = Relu(%a)
%c = Conv(%b, %w2, _) {pads=[1,1,1,1], group=32}
%d = Relu(%c)
%e = Conv(%d, %w3, _)
%f = Add(%e, %x)
output %f
)";

/// Says that `crashes` processes died over a kernel.
class CrashedStore final : public StoreOnTop {
 public:
  CrashedStore(std::shared_ptr<Store> under, std::string kernel, int crashes)
      : StoreOnTop(std::move(under)), kernel_(std::move(kernel)), crashes_(crashes) {}
  Result<Row> Find(const RowKey& key) override {
    const Result<Row> row = StoreOnTop::Find(key);
    if (row.ok() || key.kernel != kernel_) return row;
    return Row{.status = Row::Status::kCrashed, .samples = crashes_, .reason = "died"};
  }
  void Put(const RowKey& key, const Row& row) override {
    StoreOnTop::Put(key, row);
    measured += key.kernel == kernel_ ? 1 : 0;
  }

  int measured = 0;  // rows of that kernel

 private:
  std::string kernel_;
  int crashes_;
};

class TuneTest : public testing::Test {
 protected:
  static ir::Graph MakeGraph() {
    ir::Graph graph = ops::Parse(kNet).value();
    EXPECT_TRUE(ops::InferGraph(graph).ok());
    return graph;
  }

  Result<planner::Decision> Tune(const TuneOptions& options) {
    report_ = {};
    return TuneGraph(graph_, device_, {.threads = 2}, options, *store_, &report_);
  }

  CpuDevice device_{std::make_shared<ThreadPool>(2)};
  ir::Graph graph_ = MakeGraph();
  std::shared_ptr<Store> store_ = StoreWithCeilings(device_);
  TuneReport report_;
};

TEST_F(TuneTest, ProvesAnOptimumAndNeedsNoMeasuringAgain) {
  const Result<planner::Decision> first = Tune({.level = Level::kFast});
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_GT(report_.measured, 0);
  EXPECT_LE(report_.measured, report_.entries);
  EXPECT_FALSE(report_.stopped);
  EXPECT_EQ(first->gap, 0);
  EXPECT_TRUE(report_.rejected.empty()) << report_.rejected[0].reason;
  EXPECT_TRUE(planner::Apply(graph_, *first, device_, 2).ok());
  const Result<planner::Decision> again = Tune({.level = Level::kFast});
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(report_.measured, 0);
  EXPECT_EQ(report_.rounds, 1);
  EXPECT_EQ(*again, *first);
}

TEST_F(TuneTest, WhatSlotsSearchedIsNotSearchedAgain) {
  graph_ = ops::Parse(
               "input %x: f32[1x16x14x14]\nconst %w: f32[32x16x3x3]\n"
               "%a = Conv(%x, %w, _) {pads=[1,1,1,1]}\n%b = Relu(%a)\noutput %b\n")
               .value();
  ASSERT_TRUE(ops::InferGraph(graph_).ok());
  ASSERT_TRUE(Tune({.level = Level::kFast}).ok());
  const int64_t defaults = report_.measured;
  const Result<planner::Decision> first = Tune({.level = Level::kNormal});
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_GT(report_.measured, 0) << "beyond " << defaults << " default sets";
  EXPECT_FALSE(report_.stopped);
  EXPECT_TRUE(planner::Apply(graph_, *first, device_, 2).ok());
  const Result<planner::Decision> again = Tune({.level = Level::kNormal});
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(report_.measured, 0);
  EXPECT_EQ(report_.raced, 0);
  EXPECT_EQ(report_.rounds, 1);
  EXPECT_EQ(*again, *first);
}

TEST_F(TuneTest, MeasuringTheRestDoesNotChangeTheOptimum) {
  // At the level full nothing is taken for granted and bounds alone exclude entries.
  graph_ = ops::Parse(
               "input %x: f32[1x8x7x7]\nconst %w: f32[8x8x1x1]\n%a = Conv(%x, %w, _)\n"
               "%b = Relu(%a)\noutput %b\n")
               .value();
  ASSERT_TRUE(ops::InferGraph(graph_).ok());
  const Result<planner::Decision> lazy = Tune({.level = Level::kFull});
  ASSERT_TRUE(lazy.ok());
  const Result<planner::Decision> exhaustive = Tune({.level = Level::kFull, .everything = true});
  ASSERT_TRUE(exhaustive.ok());
  EXPECT_NEAR(exhaustive->predicted_us, lazy->predicted_us, lazy->predicted_us * 1e-9);
}

TEST_F(TuneTest, ASolverThatFindsNothingLeavesThePreferredPlan) {
  TuneOptions options{.level = Level::kFast};
  options.solver.method = "ve";
  options.solver.table_bytes = 0;
  const Result<planner::Decision> decision = Tune(options);
  ASSERT_TRUE(decision.ok()) << decision.status().message();
  EXPECT_TRUE(report_.stopped);
  EXPECT_TRUE(planner::Apply(graph_, *decision, device_, 2).ok());
}

TEST_F(TuneTest, WhatCrashedOnceIsTriedAgainAndWhatCrashedTwiceIsNot) {
  const std::string winner = Tune({.level = Level::kFast}).value().groups[0].kernel;
  for (int crashes : {1, 2}) {
    const auto store = std::make_shared<CrashedStore>(StoreWithCeilings(device_), winner, crashes);
    store_ = store;
    const Result<planner::Decision> decision = Tune({.level = Level::kFast});
    ASSERT_TRUE(decision.ok()) << decision.status().message();
    const bool uses =
        std::any_of(decision->groups.begin(), decision->groups.end(),
                    [&](const planner::GroupDecision& group) { return group.kernel == winner; });
    EXPECT_FALSE(uses && crashes > 1);
    EXPECT_EQ(store->measured > 0, crashes == 1);
  }
}

TEST_F(TuneTest, LevelNoneMeasuresNothing) {
  const Result<planner::Decision> decision = Tune({.level = Level::kNone});
  ASSERT_TRUE(decision.ok());
  EXPECT_EQ(report_.measured, 0);
  EXPECT_TRUE(report_.stopped);
  EXPECT_EQ(report_.end, "the level none measures nothing");
  EXPECT_TRUE(planner::Apply(graph_, *decision, device_, 2).ok());
}

TEST_F(TuneTest, StopsWhenToldAndGoesOnLater) {
  int calls = 0;
  TuneOptions options{.level = Level::kFast};
  options.progress = [&](const TuneProgress&) { return ++calls < 3; };
  const Result<planner::Decision> stopped = Tune(options);
  ASSERT_TRUE(stopped.ok());
  EXPECT_TRUE(report_.stopped);
  const int64_t measured = report_.measured;
  EXPECT_TRUE(planner::Apply(graph_, *stopped, device_, 2).ok());
  options.progress = nullptr;
  const Result<planner::Decision> rest = Tune(options);
  ASSERT_TRUE(rest.ok());
  EXPECT_FALSE(report_.stopped);
  EXPECT_GE(report_.reused, measured);
}

TEST_F(TuneTest, ACancelledSearchKeepsWhatItMeasured) {
  std::atomic<bool> cancelled = false;
  TuneOptions options{.level = Level::kFast};
  options.measure.cancelled = &cancelled;
  options.progress = [&](const TuneProgress&) { return cancelled = true; };
  EXPECT_EQ(Tune(options).status().code(), StatusCode::kCancelled);
  const int64_t measured = report_.measured;
  EXPECT_GT(measured, 0);
  EXPECT_GT(report_.entries, measured);
  cancelled = true;
  EXPECT_EQ(Tune(options).status().code(), StatusCode::kCancelled);
  EXPECT_EQ(report_.measured, 0);
  options = {.level = Level::kFast};
  ASSERT_TRUE(Tune(options).ok());
  EXPECT_GE(report_.reused, measured);
}

TEST_F(TuneTest, AStoppedSearchSaysHowFarFromTheBestItMayBe) {
  int calls = 0;
  TuneOptions options{.level = Level::kFast};
  options.progress = [&](const TuneProgress&) { return ++calls < 2; };
  const Result<planner::Decision> stopped = Tune(options);
  ASSERT_TRUE(stopped.ok());
  EXPECT_EQ(report_.end, "interrupted");
  EXPECT_GT(report_.bound_us, 0);
  EXPECT_GT(stopped->gap, 0);
  EXPECT_LE(stopped->gap, 1);
  EXPECT_NEAR(stopped->predicted_us * (1 - stopped->gap), report_.bound_us, 1e-6);
  const Result<planner::Decision> best = Tune({.level = Level::kFast});
  ASSERT_TRUE(best.ok());
  EXPECT_EQ(best->gap, 0);
}

TEST_F(TuneTest, EndsAtTheDeadlineAndGoesOnLater) {
  // Time passes whenever somebody looks at the clock.
  int64_t now_ns = 0;
  TuneOptions options{.level = Level::kFast, .deadline_ns = 40'000'000};
  options.measure.now_ns = [&] { return now_ns += 50'000; };
  options.measure.sentinel = [] {};
  const Result<planner::Decision> stopped = Tune(options);
  ASSERT_TRUE(stopped.ok()) << stopped.status().message();
  EXPECT_LT(now_ns, 45'000'000);
  EXPECT_TRUE(report_.stopped);
  EXPECT_GT(report_.skipped, 0);
  EXPECT_EQ(report_.end, "the budget ended the search");
  EXPECT_TRUE(planner::Apply(graph_, *stopped, device_, 2).ok());
  const int64_t measured = report_.measured;
  ASSERT_TRUE(Tune({.level = Level::kFast}).ok());
  EXPECT_FALSE(report_.stopped);
  EXPECT_GE(report_.reused, measured);
}

/// Answers every question: all kernels take 10 us, one takes 1 us and loses accuracy.
class LossyRows final : public StoreOnTop {
 public:
  LossyRows(std::shared_ptr<Store> under, std::string kernel)
      : StoreOnTop(std::move(under)), kernel_(std::move(kernel)) {}
  Result<Row> Find(const RowKey& key) override {
    if (key.kernel == "probe" || IsCalibration(key)) return StoreOnTop::Find(key);
    if (key.kernel == "cpu.convert") return Row{.median_us = 0.5, .low_us = 0.5, .samples = 5};
    if (key.kernel == kernel_) return Row{.median_us = 1, .low_us = 1, .samples = 5, .error = 0.1};
    return Row{.median_us = 10, .low_us = 10, .samples = 5};
  }

 private:
  std::string kernel_;
};

TEST_F(TuneTest, WhatIsBannedForItsErrorIsNotTakenAgain) {
  const std::string lossy = "cpu.conv.gemm.nhwc";
  LossyRows rows(store_, lossy);
  TuneOptions options{.level = Level::kFast};
  const auto takes = [&](const planner::Decision& decision) {
    return std::count_if(decision.groups.begin(), decision.groups.end(),
                         [&](const planner::GroupDecision& g) { return g.kernel == lossy; });
  };
  int64_t taken = 0;
  for (int round = 0; round < 10; ++round) {
    report_ = {};
    const Result<planner::Decision> decision =
        TuneGraph(graph_, device_, {.threads = 2}, options, rows, &report_);
    ASSERT_TRUE(decision.ok()) << decision.status().message();
    EXPECT_EQ(report_.measured, 0);
    EXPECT_EQ(std::ssize(report_.lossy), takes(*decision));
    if (round == 0) taken = takes(*decision);
    if (report_.lossy.empty()) break;
    EXPECT_EQ(report_.lossy[0].name, lossy);
    EXPECT_NEAR(report_.lossy[0].trade.saved_us, 9, 0.2);  // CalibratedCosts::kDoubt
    EXPECT_TRUE(options.banned.insert(report_.lossy[0].key).second);
  }
  EXPECT_GT(taken, 0);
  EXPECT_TRUE(report_.lossy.empty());
  EXPECT_GE(std::ssize(options.banned), taken);
}

TEST_F(TuneTest, ErrorsStayWithinTheBudgetInOneSolve) {
  const std::string lossy = "cpu.conv.gemm.nhwc";
  LossyRows rows(store_, lossy);
  TuneOptions options{.level = Level::kFast};
  const auto tune = [&](double budget) {
    options.bounds.error_budget = budget;
    report_ = {};
    EXPECT_TRUE(TuneGraph(graph_, device_, {.threads = 2}, options, rows, &report_).ok());
    EXPECT_EQ(report_.rounds, 1);
    double error = 0;
    for (const Lossy& one : report_.lossy) error += one.trade.error;
    return error;
  };
  EXPECT_NEAR(tune(-1), 0.3, 1e-9);
  EXPECT_NEAR(tune(0.35), 0.3, 1e-9);
  EXPECT_NEAR(tune(0.25), 0.2, 1e-9);
  EXPECT_NEAR(tune(0.15), 0.1, 1e-9);
  EXPECT_NEAR(tune(0.05), 0, 1e-9);
}

TEST_F(TuneTest, NoPlanIsMadeThatBreaksTheMemoryLimit) {
  TuneOptions options{.level = Level::kFast};
  options.bounds.memory_limit = 1000;
  EXPECT_EQ(Tune(options).status().code(), StatusCode::kUnsupported);
  options.bounds.memory_limit = 100'000'000;
  EXPECT_TRUE(Tune(options).ok());
}

/// Knows all entries as priors; what is measured replaces them.
class Priors final : public StoreOnTop {
 public:
  Priors(std::shared_ptr<Store> under, std::string fast)
      : StoreOnTop(std::move(under)), fast_(std::move(fast)) {}
  Result<Row> Find(const RowKey& key) override {
    const Result<Row> known = StoreOnTop::Find(key);
    if (known.ok() || key.kernel == "probe" || IsCalibration(key)) return known;
    const double us = key.kernel == fast_ ? 50 : key.kernel == "cpu.convert" ? 5 : 5000;
    return Row{.median_us = us, .low_us = us, .samples = 5, .prior = true};
  }
  void Put(const RowKey& key, const Row& row) override {
    StoreOnTop::Put(key, row);
    if (key.kernel != "probe" && key.kernel != "cpu.convert") timed.push_back(key.kernel);
  }

  std::vector<std::string> timed;

 private:
  std::string fast_;
};

TEST_F(TuneTest, OfPriorsOnlyWhatMayWinIsMeasuredAgain) {
  graph_ = ops::Parse(
               "input %x: f32[1x16x14x14]\nconst %w: f32[32x16x3x3]\n"
               "%a = Conv(%x, %w, _) {pads=[1,1,1,1]}\n%b = Relu(%a)\noutput %b\n")
               .value();
  ASSERT_TRUE(ops::InferGraph(graph_).ok());
  // Each launch takes one look at the clock: 50 us.
  int64_t now_ns = 0;
  TuneOptions options{.level = Level::kNormal};
  options.measure.now_ns = [&] { return now_ns += 50'000; };
  options.measure.sentinel = [] {};
  const std::string preferred =
      planner::PreferredDecision(graph_, device_, {.threads = 2})->groups[0].kernel;
  Priors priors(store_, preferred);
  const Result<planner::Decision> decision =
      TuneGraph(graph_, device_, {.threads = 2}, options, priors, &report_);
  ASSERT_TRUE(decision.ok()) << decision.status().message();
  EXPECT_EQ(decision->groups[0].kernel, preferred);
  EXPECT_EQ(report_.priors, report_.entries);
  EXPECT_GT(report_.measured, 0);
  for (const std::string& kernel : priors.timed) EXPECT_EQ(kernel, preferred);
}

TEST_F(TuneTest, RowsOfWrongKernelsAreNeverPicked) {
  const TuneOptions options{.level = Level::kFast};
  const planner::Decision best = Tune(options).value();
  // The store says that every kernel row of the winner of node 0 computes wrong results.
  class Liar final : public StoreOnTop {
   public:
    Liar(std::shared_ptr<Store> under, std::string kernel)
        : StoreOnTop(std::move(under)), kernel_(std::move(kernel)) {}
    Result<Row> Find(const RowKey& key) override {
      if (key.kernel == kernel_) return Row{.status = Row::Status::kWrong, .reason = "planted"};
      return StoreOnTop::Find(key);
    }

   private:
    std::string kernel_;
  };
  Liar liar(store_, best.groups[0].kernel);
  const Result<planner::Decision> other =
      TuneGraph(graph_, device_, {.threads = 2}, options, liar, nullptr);
  ASSERT_TRUE(other.ok()) << other.status().message();
  for (const planner::GroupDecision& group : other->groups)
    EXPECT_NE(group.kernel, best.groups[0].kernel);
}

/// Says of all groups with that text in their problem that their kernels compute wrong results.
class WrongStore final : public StoreOnTop {
 public:
  WrongStore(std::shared_ptr<Store> under, std::string text)
      : StoreOnTop(std::move(under)), text_(std::move(text)) {}
  Result<Row> Find(const RowKey& key) override {
    const bool is_conversion = key.kernel == "cpu.convert";
    if (key.kernel != "probe" && !is_conversion && key.problem.find(text_) != std::string::npos)
      return Row{.status = Row::Status::kWrong, .reason = "planted"};
    return StoreOnTop::Find(key);
  }

 private:
  std::string text_;
};

TEST_F(TuneTest, WhereAllKernelsFailThoseOfTheDefaultPlanStay) {
  const planner::Decision preferred =
      planner::PreferredDecision(graph_, device_, {.threads = 2}).value();
  // The depthwise convolution, alone and with its neighbours; then everything.
  for (const std::string text : {"group=32", " = "}) {
    store_ = std::make_shared<WrongStore>(StoreWithCeilings(device_), text);
    const Result<planner::Decision> decision = Tune({.level = Level::kFast});
    ASSERT_TRUE(decision.ok()) << decision.status().message();
    EXPECT_TRUE(planner::Apply(graph_, *decision, device_, 2).ok());
    size_t kept = 0;
    for (const planner::GroupDecision& group : preferred.groups) {
      const auto same = [&](const planner::GroupDecision& other) {
        return other.nodes == group.nodes && other.kernel == group.kernel &&
               other.states == group.states;
      };
      const bool is_planted =
          text == " = " || std::ranges::find(group.nodes, 2) != group.nodes.end();
      if (!is_planted) continue;
      EXPECT_TRUE(std::any_of(decision->groups.begin(), decision->groups.end(), same));
      const auto names_both = [&](const std::string& warning) {
        return warning.find(ir::Describe(graph_.node(group.nodes[0]))) != std::string::npos &&
               warning.find(group.kernel + " of the default plan stays") != std::string::npos;
      };
      EXPECT_TRUE(std::any_of(report_.warnings.begin(), report_.warnings.end(), names_both));
      ++kept;
    }
    EXPECT_GT(kept, 0U);
    EXPECT_EQ(report_.warnings.size(), kept);
  }
}

/// Knows a kernel from a time when everything was slow.
class SlowThen final : public StoreOnTop {
 public:
  SlowThen(std::shared_ptr<Store> under, std::string kernel)
      : StoreOnTop(std::move(under)), kernel_(std::move(kernel)) {}
  Result<Row> Find(const RowKey& key) override {
    const Result<Row> row = StoreOnTop::Find(key);
    if (row.ok() || key.kernel != kernel_) return row;
    return Row{.median_us = kSlowUs, .low_us = kSlowUs, .samples = 5};
  }
  void Put(const RowKey& key, const Row& row) override {
    StoreOnTop::Put(key, row);
    if (key.kernel == kernel_) fastest_us = std::min(fastest_us, row.median_us);
  }

  static constexpr double kSlowUs = 1e6;
  double fastest_us = kSlowUs;  // of that kernel since

 private:
  std::string kernel_;
};

TEST_F(TuneTest, WhatOnceWasSlowRunsAgainBesideWhatSeemsFaster) {
  const planner::Decision preferred =
      planner::PreferredDecision(graph_, device_, {.threads = 2}).value();
  const auto store =
      std::make_shared<SlowThen>(StoreWithCeilings(device_), preferred.groups[0].kernel);
  store_ = store;
  const Result<planner::Decision> decision = Tune({.level = Level::kFast});
  ASSERT_TRUE(decision.ok()) << decision.status().message();
  EXPECT_GT(report_.raced, 0);
  EXPECT_LT(store->fastest_us, SlowThen::kSlowUs / 10);
}

TEST(LevelTest, NamesAreReadBack) {
  EXPECT_EQ(LevelFromName("wide").value(), Level::kWide);
  EXPECT_EQ(LevelFromName("work-size").value(), Level::kWorkSize);
  EXPECT_EQ(LevelFromName("most").status().code(), StatusCode::kInvalidArgument);
}

TEST(LevelTest, MoreEvaluationsWithEach) {
  int64_t before = -1;
  for (const char* name : {"none", "fast", "normal", "wide", "full"}) {
    const SlotOptions options = SlotOptionsOf(LevelFromName(name).value(), false);
    EXPECT_GT(options.evaluations, before) << name;
    EXPECT_TRUE(options.scope.compiles);
    EXPECT_FALSE(options.scope.relaxed_math);
    before = options.evaluations;
  }
  EXPECT_FALSE(SlotOptionsOf(Level::kWorkSize, true).scope.compiles);
  EXPECT_TRUE(SlotOptionsOf(Level::kNormal, true).scope.relaxed_math);
}

}  // namespace
}  // namespace fettle::tuner
