// Dividing the time until a deadline.
#include "tuner/model/timetable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/noise.h"
#include "ops/op.h"
#include "runtime/session.h"

namespace fettle::runtime {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

std::shared_ptr<const Model> Small() {
  return Model::FromGraph(ops::Parse("input %x: f32[4]\n%y = Neg(%x)\noutput %y\n").value(),
                          "small")
      .value();
}

TEST(TimetableTest, KeepsTimeForTheGate) {
  const tuner::TuneModelOptions options{.deadline_ns = 15 * kSecond};
  const tuner::DefaultRun run{.prepare_seconds = 0.1, .first_seconds = 0.02, .run_seconds = 0.01};
  const tuner::Timetable table = tuner::Timetable::Make(options, run, *Small(), 10 * kSecond);
  EXPECT_TRUE(table.compares);
  EXPECT_LT(table.gate_until_ns, 15 * kSecond);
  EXPECT_GT(table.gate_until_ns, 14.8 * kSecond);
  // A fifth for the gate, and the time in which the tuned plan is made ready.
  EXPECT_NEAR(static_cast<double>(table.gate_until_ns - table.tune_until_ns), 1.12e9, 1e7);
  EXPECT_NEAR(table.GateSeconds(14 * kSecond), 0.9, 0.01);
  EXPECT_EQ(table.GateSeconds(16 * kSecond), 0);
}

TEST(TimetableTest, LongRunsGetTheFewestPairs) {
  const tuner::TuneModelOptions options{.deadline_ns = 5 * kSecond};
  const tuner::DefaultRun run{.prepare_seconds = 0.1, .first_seconds = 0.2, .run_seconds = 0.15};
  const tuner::Timetable table = tuner::Timetable::Make(options, run, *Small(), 0);
  EXPECT_TRUE(table.compares);
  EXPECT_NEAR(static_cast<double>(table.gate_until_ns - table.tune_until_ns), 2.1e9, 1e7);
}

TEST(TimetableTest, MeasuresAllTheTimeWhereNoComparisonFits) {
  const tuner::TuneModelOptions options{.deadline_ns = 5 * kSecond};
  const tuner::DefaultRun run{.prepare_seconds = 0.2, .first_seconds = 0.9, .run_seconds = 0.44};
  const tuner::Timetable table = tuner::Timetable::Make(options, run, *Small(), kSecond);
  EXPECT_FALSE(table.compares);
  EXPECT_THAT(table.reason,
              testing::HasSubstr("no time to compare whole networks: that takes 6.4 s (5 "
                                 "pairs of runs of 440 ms) of the 3.9 s that are left"));
  const tuner::Timetable late = tuner::Timetable::Make(options, run, *Small(), 5 * kSecond);
  EXPECT_THAT(late.reason, testing::HasSubstr("the plan before tuning used it up"));
  EXPECT_GT(table.tune_until_ns, 4.6 * kSecond);
}

TEST(TimetableTest, NothingIsKeptForAPackageThatNobodyWrites) {
  tuner::TuneModelOptions options{.deadline_ns = 5 * kSecond};
  const tuner::DefaultRun run{.prepare_seconds = 0.1, .first_seconds = 0.02, .run_seconds = 0.01};
  ir::Graph graph =
      ops::Parse(
          "input %x: f32[1x4096]\nconst %w: f32[4096x4096]\n%y = MatMul(%x, %w)\noutput %y\n")
          .value();
  const auto model = Model::FromGraph(std::move(graph), "large").value();
  const tuner::Timetable with = tuner::Timetable::Make(options, run, *model, 0);
  options.packed_weights = true;
  const auto session = Session::Create(model, {.threads = 1}).value();
  TensorMap outputs;
  const std::vector<Tensor> noise = ir::NoiseInputs(model->graph(), 7).value();
  ASSERT_TRUE(session->Run({{"x", noise[0]}}, &outputs).ok());
  const tuner::Timetable packed = tuner::Timetable::Make(options, run, *model, 0);
  EXPECT_LT(packed.gate_until_ns, with.gate_until_ns - kSecond / 2);
  options.written_per_second = 1e9;
  const tuner::Timetable fast = tuner::Timetable::Make(options, run, *model, 0);
  EXPECT_GT(fast.gate_until_ns, 4.7 * kSecond);
  EXPECT_NEAR(tuner::Timetable::WriteSeconds(options, *model, 5), 0.134, 0.01);
  options.writes_package = false;
  EXPECT_EQ(tuner::Timetable::WriteSeconds(options, *model, 5), 0);
  const tuner::Timetable without = tuner::Timetable::Make(options, run, *model, 0);
  EXPECT_GT(without.gate_until_ns, 4.8 * kSecond);
  EXPECT_LT(with.gate_until_ns, 4.5 * kSecond);
  EXPECT_TRUE(without.MeasuresFor(kSecond));
  EXPECT_FALSE(without.MeasuresFor(5 * kSecond));
}

TEST(TimetableTest, WithoutADeadlineWeightsAreAlwaysWritten) {
  EXPECT_TRUE(tuner::Timetable::AffordsPackedWeights(*Small(), 100e6, 0, 99 * kSecond));
  EXPECT_TRUE(tuner::Timetable::AffordsPackedWeights(*Small(), 100e6, 100 * kSecond, 99 * kSecond));
  EXPECT_FALSE(tuner::Timetable::AffordsPackedWeights(*Small(), 100e6, 98 * kSecond, 99 * kSecond));
}

}  // namespace
}  // namespace fettle::runtime
