// The default plan that tuning starts from, where a lower precision is asked for.
#include "tuner/model/default_plan.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <random>

#include "base/clock.h"
#include "ops/op.h"
#include "runtime/device_choice.h"
#include "tuner/model/tune_model.h"

namespace fettle::runtime {
namespace {

/// The clock of a gate in which the incumbent's runs take one time and the challenger's another: it
/// is read twice before each pair, around each run and after the pair.
class GateClock {
 public:
  GateClock(int64_t incumbent_ns, int64_t challenger_ns, uint64_t seed)
      : incumbent_ns_(incumbent_ns), challenger_ns_(challenger_ns), random_(seed) {}

  int64_t operator()() {
    if (is_first_) {
      is_first_ = false;
      return now_ns_;
    }
    const int step = reads_++ % 7;
    if (step == 1) challenger_first_ = random_() % 2 == 1;
    if (step == 3) now_ns_ += challenger_first_ ? challenger_ns_ : incumbent_ns_;
    if (step == 5) now_ns_ += challenger_first_ ? incumbent_ns_ : challenger_ns_;
    return now_ns_;
  }

 private:
  int64_t incumbent_ns_, challenger_ns_;
  std::mt19937_64 random_;
  bool is_first_ = true, challenger_first_ = false;
  int reads_ = 0;
  int64_t now_ns_ = 0;
};

class DefaultPlanTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto device = OpenAccelerator("opencl");
    if (!device.ok()) GTEST_SKIP() << device.status().message();
    ir::Graph graph = ops::Parse(
                          "input %x: f32[1x8x6x8]\nconst %w: f32[8x8x1x1] = noise(-1, 1)\n"
                          "%y = Conv(%x, %w, _)\noutput %y\n")
                          .value();
    model_ = Model::FromGraph(std::move(graph), "one").value();
    inputs_ = {{"x", Tensor::Create(DType::kF32, Shape{1, 8, 6, 8}).value()}};
    options_ = {.threads = 1, .accelerators = {*device}};
    options_.accelerator_only = true;
  }

  tuner::TriedPlan RunIn(planner::Precision precision, int64_t own_ns, int64_t exact_ns,
                         int64_t deadline_ns = 0, tuner::TriedPlan exact = {}) {
    options_.precision = precision;
    tuner::GateOptions gate;
    // One clock, though the options are copied.
    const auto clock = std::make_shared<GateClock>(own_ns, exact_ns, gate.seed);
    gate.now_ns = [this, clock] {
      ++clock_reads_;
      return (*clock)();
    };
    gate.warms_up = false;
    gate.max_pairs = 20;
    return tuner::RunDefaultPlan(model_, options_, inputs_, gate, deadline_ns, std::move(exact))
        .value();
  }

  static planner::Precision PrecisionOf(const tuner::TriedPlan& plan) {
    return plan.session->limits().precision;
  }

  std::shared_ptr<const Model> model_;
  TensorMap inputs_;
  SessionOptions options_;
  int clock_reads_ = 0;
};

TEST(DefaultRun, IsRepeatedOnlyWhereThatEndsByTheDeadline) {
  const auto model =
      Model::FromGraph(ops::Parse("input %x: f32[8]\n%y = Neg(%x)\noutput %y\n").value(), "m")
          .value();
  const TensorMap inputs = {{"x", Tensor::Create(DType::kF32, Shape{8}).value()}};
  const auto runs_until = [&](int64_t deadline_ns) {
    const tuner::TriedPlan plan =
        tuner::RunDefaultPlan(model, {.threads = 1}, inputs, {}, deadline_ns, {}).value();
    EXPECT_EQ(plan.outputs.size(), 1U);
    return plan.run.runs;
  };
  EXPECT_EQ(runs_until(0), 1);
  EXPECT_EQ(runs_until(NowNs()), 1);
  constexpr int64_t kHourNs = int64_t{3600} * 1'000'000'000;
  EXPECT_EQ(runs_until(NowNs() + kHourNs), 2);
}

TEST_F(DefaultPlanTest, OfHighPrecisionTakesThePlaceOfASlowerOne) {
  const tuner::TriedPlan plan = RunIn(planner::Precision::kNormal, 20'000, 10'000);
  EXPECT_EQ(PrecisionOf(plan), planner::Precision::kHigh);
  EXPECT_EQ(plan.outputs.size(), 1U);
}

TEST_F(DefaultPlanTest, OfLowerPrecisionStaysWhereItIsFaster) {
  EXPECT_EQ(PrecisionOf(RunIn(planner::Precision::kNormal, 10'000, 20'000)),
            planner::Precision::kNormal);
}

TEST_F(DefaultPlanTest, OfHighPrecisionIsComparedWithNothing) {
  EXPECT_EQ(PrecisionOf(RunIn(planner::Precision::kHigh, 20'000, 10'000)),
            planner::Precision::kHigh);
  EXPECT_EQ(clock_reads_, 0);
}

TEST_F(DefaultPlanTest, IsComparedWithNothingWhereThereIsNoTime) {
  EXPECT_EQ(PrecisionOf(RunIn(planner::Precision::kNormal, 20'000, 10'000, NowNs())),
            planner::Precision::kNormal);
  EXPECT_EQ(clock_reads_, 0);
}

TEST_F(DefaultPlanTest, IsComparedWithTheSessionThatHighPrecisionCameTo) {
  tuner::TriedPlan exact = RunIn(planner::Precision::kHigh, 20'000, 10'000);
  const Session* session = exact.session.get();
  const tuner::TriedPlan plan =
      RunIn(planner::Precision::kNormal, 20'000, 10'000, 0, std::move(exact));
  EXPECT_EQ(plan.session.get(), session);
  EXPECT_GT(clock_reads_, 0);
}

TEST_F(DefaultPlanTest, OfTheCpuAloneTakesThePlaceOfASlowerOne) {
  options_.accelerator_only = false;
  const tuner::TriedPlan plan = RunIn(planner::Precision::kHigh, 20'000, 10'000);
  EXPECT_TRUE(plan.session->devices().beside_cpu().empty());
  EXPECT_EQ(plan.outputs.size(), 1U);
}

TEST_F(DefaultPlanTest, OfBothDevicesStaysWhereItIsFaster) {
  options_.accelerator_only = false;
  const tuner::TriedPlan plan = RunIn(planner::Precision::kHigh, 10'000, 20'000);
  EXPECT_EQ(plan.session->devices().beside_cpu().size(), 1U);
  EXPECT_GT(clock_reads_, 0);
}

TEST_F(DefaultPlanTest, AndWhatIsTunedForOutliveTheRoundsThatFoundThem) {
  options_.precision = planner::Precision::kNormal;
  options_.accelerator_only = false;
  tuner::TuneModelOptions tuning{.session = options_, .deadline_ns = NowNs() + 2'000'000'000};
  tuning.tune.level = tuner::Level::kFast;
  tuning.gate.seconds = 0.05;
  const std::shared_ptr<tuner::Store> store = tuner::MemoryStore();
  const Result<tuner::TuneModelResult> result = tuner::TuneModel(model_, inputs_, tuning, *store);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_GT(result->report.rounds, 1);
  ASSERT_NE(result->session, nullptr);
  TensorMap outputs;
  EXPECT_TRUE(result->session->Run(inputs_, &outputs).ok());
}

}  // namespace
}  // namespace fettle::runtime
