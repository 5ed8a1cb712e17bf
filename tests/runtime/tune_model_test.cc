// Tuning a model end to end: segments, accuracy, the gate, and plans that are found again.
#include "tuner/model/tune_model.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <limits>

#include "base/clock.h"
#include "ir/noise.h"
#include "ops/op.h"
#include "runtime/device_choice.h"
#include "tensor/compare.h"
#include "tests/runtime/serving/two_convolutions.h"
#include "tests/tuner/known_machine.h"
#include "tuner/model/kept_plans.h"
#include "tuner/model/tuning_plans.h"

namespace fettle::runtime {
namespace {

/// Knows all times: one kernel is fastest and loses accuracy.
class LossyRows final : public tuner::StoreOnTop {
 public:
  explicit LossyRows(std::string kernel)
      : StoreOnTop(tuner::MemoryStore()), kernel_(std::move(kernel)) {}
  Result<tuner::Row> Find(const tuner::RowKey& key) override {
    if (key.kernel == "probe" || tuner::IsCalibration(key)) return StoreOnTop::Find(key);
    const bool lossy = key.kernel == kernel_;
    const double us = lossy ? 1 : key.kernel == "cpu.convert" ? 0.5 : 10;
    return tuner::Row{.median_us = us, .low_us = us, .samples = 5, .error = lossy ? 1e-3 : 0.0};
  }

 private:
  std::string kernel_;
};

class TuneModelTest : public testing::Test {
 protected:
  TuneModelTest() : store_(tuner::MemoryStore()) {
    model_ = TwoConvolutions();
    inputs_["x"] = Noise({1, 8, 12, 16});
    options_.session.threads = 2;
    options_.tune.level = tuner::Level::kFast;
    options_.gate.seconds = 0.2;
  }

  static Tensor Noise(const Shape& shape) {
    ir::Graph graph = ops::Parse("input %x: f32[1]\noutput %x\n").value();
    graph.value(graph.inputs[0]).shape = shape;
    return ir::NoiseInputs(graph, 3).value()[0];
  }

  Result<tuner::TuneModelResult> Tune(tuner::Store& store) {
    return tuner::TuneModel(model_, inputs_, options_, store);
  }

  TensorMap Run(std::shared_ptr<planner::PlanSource> plans, const TensorMap& inputs) {
    const auto session = Session::Create(model_, {.threads = 2, .plans = std::move(plans)}).value();
    TensorMap outputs;
    EXPECT_TRUE(session->Run(inputs, &outputs).ok());
    return outputs;
  }

  std::shared_ptr<const Model> model_;
  std::shared_ptr<tuner::Store> store_;
  TensorMap inputs_;
  tuner::TuneModelOptions options_;
};

TEST_F(TuneModelTest, PlansOfTheBookAndOfTheStoreComputeTheSame) {
  const Result<tuner::TuneModelResult> result = Tune(*store_);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_GT(result->report.measured, 0);
  EXPECT_TRUE(result->accuracy.ok) << result->accuracy.reason;
  EXPECT_GT(result->gate.incumbent_us, 0);
  EXPECT_EQ(result->book->entries().size(), 1U);
  const Tensor want = Run(planner::PreferredPlans(), inputs_).at("c");
  const auto learned = std::make_shared<tuner::LearnedPlans>(store_);
  for (const std::shared_ptr<planner::PlanSource>& plans :
       {planner::PlansOf(result->book), std::shared_ptr<planner::PlanSource>(learned)}) {
    const Tensor got = Run(plans, inputs_).at("c");
    EXPECT_TRUE(Compare(got.view(), want.view(), KernelTolerance(DType::kF32, 72, 72)).ok());
  }
  EXPECT_EQ(learned->found(), 1);
}

TEST_F(TuneModelTest, WhereAllKernelsFailTheAnswerIsTheDefaultPlans) {
  /// Says that no kernel computes what it should.
  class AllWrong final : public tuner::StoreOnTop {
   public:
    using StoreOnTop::StoreOnTop;
    Result<tuner::Row> Find(const tuner::RowKey& key) override {
      if (key.kernel == "probe" || tuner::IsCalibration(key)) return StoreOnTop::Find(key);
      return tuner::Row{.status = tuner::Row::Status::kWrong, .reason = "planted"};
    }
  };
  AllWrong store(store_);
  // Twice: what was kept says it again.
  for (int call = 0; call < 2; ++call) {
    const Result<tuner::TuneModelResult> result = Tune(store);
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_FALSE(result->report.warnings.empty());
    const Tensor got = Run(planner::PlansOf(result->book), inputs_).at("c");
    const Tensor want = Run(planner::PreferredPlans(), inputs_).at("c");
    EXPECT_TRUE(std::ranges::equal(got.as<float>(), want.as<float>()));
  }
}

/// Keeps what is learned as if kernels were of other sources.
class EditedKernels final : public tuner::StoreOnTop {
 public:
  EditedKernels() : StoreOnTop(tuner::MemoryStore()) {}
  void PutDecision(const std::string& key, const std::string& text) override {
    std::string edited = text;
    if (text.starts_with("kernels")) edited[text.find('=') + 1] = '-';
    StoreOnTop::PutDecision(key, edited);
  }
};

TEST_F(TuneModelTest, PlansAndVerdictsOnKernelsThatChangedAreNotUsed) {
  const auto store = std::make_shared<EditedKernels>();
  ASSERT_TRUE(Tune(*store).ok());
  const auto learned = std::make_shared<tuner::LearnedPlans>(store);
  Run(learned, inputs_);
  EXPECT_EQ(learned->found(), 0);
  const Result<tuner::TuneModelResult> again = Tune(*store);
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(again->known);
}

TEST_F(TuneModelTest, TheVerdictOnTheSamePlanIsKept) {
  const Result<tuner::TuneModelResult> first = Tune(*store_);
  ASSERT_TRUE(first.ok());
  EXPECT_FALSE(first->known);
  const Result<tuner::TuneModelResult> second = Tune(*store_);
  ASSERT_TRUE(second.ok());
  EXPECT_TRUE(second->known);
  EXPECT_EQ(second->report.measured, 0);
  EXPECT_EQ(second->gate.accepted, first->gate.accepted);
  EXPECT_EQ(second->book->entries()[0].text, first->book->entries()[0].text);
}

TEST_F(TuneModelTest, AGateThatAsksTooMuchKeepsTheDefaultPlan) {
  options_.gate.min_gain = 0.999;
  const Result<tuner::TuneModelResult> result = Tune(*store_);
  ASSERT_TRUE(result.ok());
  EXPECT_FALSE(result->gate.accepted);
  EXPECT_FALSE(result->gate.reason.empty());
  const auto session = Session::Create(model_, {.threads = 2}).value();
  const auto kept =
      Session::Create(model_, {.threads = 2, .plans = planner::PlansOf(result->book)}).value();
  TensorMap outputs;
  ASSERT_TRUE(session->Run(inputs_, &outputs).ok());
  ASSERT_TRUE(kept->Run(inputs_, &outputs).ok());
  ASSERT_EQ(kept->profile().size(), session->profile().size());
  for (size_t i = 0; i < kept->profile().size(); ++i)
    EXPECT_EQ(kept->profile()[i].kernel, session->profile()[i].kernel);
}

TEST_F(TuneModelTest, ChoicesThatCostTooMuchAccuracyAreGivenUp) {
  const std::string lossy = "cpu.conv.gemm.nhwc";
  LossyRows rows(lossy);
  // Nothing is good enough.
  options_.accuracy.min_sqnr_db = std::numeric_limits<double>::quiet_NaN();
  const Result<tuner::TuneModelResult> result = Tune(rows);
  ASSERT_TRUE(result.ok()) << result.status().message();
  ASSERT_FALSE(result->banned.empty());
  for (const tuner::Lossy& one : result->banned) {
    EXPECT_EQ(one.name, lossy);
    EXPECT_NEAR(one.trade.saved_us, 9, 0.2);  // CalibratedCosts::kDoubt
  }
  EXPECT_TRUE(result->report.lossy.empty());
  EXPECT_FALSE(result->accuracy.ok);
  EXPECT_FALSE(result->gate.accepted);
  // What was tuned for: two convolutions that lose nothing.
  EXPECT_GE(result->expected_us, 20);
}

TEST_F(TuneModelTest, ADeadlineThatHasPassedKeepsTheDefaultPlanAndSaysWhy) {
  options_.deadline_ns = NowNs();
  Result<tuner::TuneModelResult> result = Tune(*store_);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->report.measured, 0);
  EXPECT_EQ(result->predicted_us, 0) << "of steps that nobody has measured";
  EXPECT_FALSE(result->gate.accepted);
  EXPECT_NE(result->gate.reason.find("no time to compare"), std::string::npos);
  EXPECT_EQ(result->book->entries().size(), 1U);
  ASSERT_NE(result->session, nullptr);
  TensorMap outputs;
  EXPECT_TRUE(result->session->Run(inputs_, &outputs).ok());
}

TEST_F(TuneModelTest, WhereNoPairOfNetworksFitsTheDefaultPlansOwnTimeIsReported) {
  options_.deadline_ns = NowNs() + int64_t{300} * 1000 * 1000 * 1000;
  options_.gate.seconds = 0;
  const Result<tuner::TuneModelResult> result = Tune(*store_);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_FALSE(result->gate.accepted);
  EXPECT_EQ(result->gate.pairs, 0);
  EXPECT_GT(result->gate.incumbent_us, 0);
  EXPECT_EQ(result->gate.incumbent_us, result->gate.challenger_us);
}

/// Cancels after some rows.
class CancellingStore final : public tuner::StoreOnTop {
 public:
  CancellingStore(int rows, std::atomic<bool>& cancelled)
      : StoreOnTop(tuner::MemoryStore()), left_(rows), cancelled_(cancelled) {}
  void Put(const tuner::RowKey& key, const tuner::Row& row) override {
    StoreOnTop::Put(key, row);
    if (key.kernel != "probe" && --left_ == 0) cancelled_ = true;
  }

 private:
  int left_;
  std::atomic<bool>& cancelled_;
};

TEST_F(TuneModelTest, ACancelledTuningSaysHowFarItCame) {
  std::atomic<bool> cancelled = false;
  options_.session.cancelled = &cancelled;
  CancellingStore store(3, cancelled);
  const Result<tuner::TuneModelResult> stopped = Tune(store);
  ASSERT_EQ(stopped.status().code(), StatusCode::kCancelled);
  int measured = 0;
  ASSERT_EQ(std::sscanf(std::string(stopped.status().message()).c_str(),
                        "interrupted; measurements made and kept: %d", &measured),
            1)
      << stopped.status().message();
  EXPECT_EQ(measured, 3);
  cancelled = false;
  const Result<tuner::TuneModelResult> rest = Tune(store);
  ASSERT_TRUE(rest.ok()) << rest.status().message();
  EXPECT_GE(rest->report.reused, 3);
}

TEST_F(TuneModelTest, StepsOfBothNetworksTeachWhatPredictionsMiss) {
  options_.gate.max_pairs = 40;
  const Result<tuner::TuneModelResult> result = Tune(*store_);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_GT(result->lesson.steps, 0);
  EXPECT_GT(result->alone_us, 0);
  EXPECT_GT(result->predicted_us, 0);
  if (result->lesson.residual_after < result->lesson.residual_before) {
    EXPECT_TRUE(result->lesson.kept);
  }
  if (!result->lesson.kept) {
    EXPECT_NEAR(result->predicted_us, result->alone_us, 1e-6 * result->alone_us);
  }
}

TEST_F(TuneModelTest, ADefaultPlanThatNeedsTooMuchMemoryDoesNotStay) {
  const auto session = Session::Create(model_, {.threads = 2}).value();
  TensorMap outputs;
  ASSERT_TRUE(session->Run(inputs_, &outputs).ok());
  const int64_t needed = session->memory().arena_bytes;
  ASSERT_GT(needed, 0);
  // Tensors of the caller count for the solver, so this is what the smallest plan needs, or less.
  options_.tune.bounds.memory_limit = 1;
  const Result<tuner::TuneModelResult> none = Tune(*store_);
  EXPECT_EQ(none.status().code(), StatusCode::kUnsupported);
  options_.tune.bounds.memory_limit = 10 * needed;
  const Result<tuner::TuneModelResult> result = Tune(*store_);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_LE(result->session->memory().arena_bytes, 10 * needed);
}

TEST_F(TuneModelTest, AnotherShapeStartsOnThePlanOfTheNearestOne) {
  const Result<tuner::TuneModelResult> result = Tune(*store_);
  ASSERT_TRUE(result.ok());
  const TensorMap larger = {{"x", Noise({1, 8, 20, 16})}};
  const Tensor want = Run(planner::PreferredPlans(), larger).at("c");
  const Tensor got = Run(planner::PlansOf(result->book), larger).at("c");
  EXPECT_TRUE(Compare(got.view(), want.view(), KernelTolerance(DType::kF32, 72, 72)).ok());
}

/// A network of two layers whose values in between do not fit f16, on an OpenCL device that may
/// store them so.
class OverflowTest : public TuneModelTest {
 protected:
  void SetUp() override {
    TuneModelTest::SetUp();
    const auto device = OpenAccelerator("opencl");
    if (!device.ok()) GTEST_SKIP() << device.status().message();
    ir::Graph graph = ops::Parse(R"(input %x: f32[1x8x6x8]
const %w: f32[8x8x1x1] = splat 300.0
const %v: f32[8x8x1x1] = splat 0.001
%a = Conv(%x, %w, _)
%b = Conv(%a, %v, _)
output %b
)")
                          .value();
    model_ = Model::FromGraph(std::move(graph), "overflow").value();
    Tensor x = Tensor::Create(DType::kF32, Shape{1, 8, 6, 8}).value();
    for (float& element : x.as<float>()) element = 100;  // sums of 240 000
    inputs_ = {{"x", x}};
    options_.session.accelerators = {*device};
    options_.session.accelerator_only = true;
    options_.session.precision = planner::Precision::kNormal;
    options_.session.memory = MemoryKind::kBuffer;
  }
};

TEST_F(OverflowTest, TheFirstRunOfADefaultPlanIsRightAllTheSame) {
  const auto session = Session::Create(model_, options_.session).value();
  TensorMap outputs;
  for (int run = 0; run < 2; ++run) {
    ASSERT_TRUE(session->Run(inputs_, &outputs).ok());
    for (float element : outputs.at("b").as<float>()) ASSERT_NEAR(element, 1920, 0.1);
  }
  EXPECT_EQ(session->limits().precision, planner::Precision::kHigh);
  for (float& element : inputs_.at("x").as<float>()) element = 1;
  const auto fitting = Session::Create(model_, options_.session).value();
  ASSERT_TRUE(fitting->Run(inputs_, &outputs).ok());
  EXPECT_EQ(fitting->limits().precision, planner::Precision::kNormal);
}

TEST_F(OverflowTest, TuningGivesWhatOverflowsBackToF32) {
  options_.session.judges_first_run = false;
  TensorMap outputs;
  ASSERT_TRUE(Session::Create(model_, options_.session).value()->Run(inputs_, &outputs).ok());
  ASSERT_FALSE(std::isfinite(outputs.at("b").as<float>()[0])) << "nothing overflows before tuning";
  const Result<tuner::TuneModelResult> result = Tune(*store_);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_TRUE(result->accuracy.ok) << result->accuracy.reason;
  // The default plan of high precision may be faster than the one that overflows.
  const bool is_exact = result->session->limits().precision == planner::Precision::kHigh;
  EXPECT_TRUE(result->gate.accepted || is_exact) << result->gate.reason;
  ASSERT_TRUE(result->session->Run(inputs_, &outputs).ok());
  for (float element : outputs.at("b").as<float>()) ASSERT_NEAR(element, 1920, 20);
}

TEST_F(OverflowTest, TuningTunesHighPrecisionToo) {
  ASSERT_TRUE(Tune(*store_).ok());
  const auto learned = std::make_shared<tuner::LearnedPlans>(store_);
  options_.session.plans = learned;
  options_.session.precision = planner::Precision::kHigh;
  TensorMap outputs;
  ASSERT_TRUE(Session::Create(model_, options_.session).value()->Run(inputs_, &outputs).ok());
  EXPECT_EQ(learned->found(), 1);
}

}  // namespace
}  // namespace fettle::runtime
