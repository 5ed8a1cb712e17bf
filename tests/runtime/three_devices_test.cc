// A third backend, which no file of the library knows, beside OpenCL and the CPU: plans, tunes and
// runs, all three in one plan.
#include <gtest/gtest.h>

#include <set>

#include "base/hash.h"
#include "ir/noise.h"
#include "ir/text.h"
#include "kernels/backend.h"
#include "ops/op.h"
#include "planner/catalogue.h"
#include "planner/extract.h"
#include "planner/planner.h"
#include "runtime/device_choice.h"
#include "runtime/session.h"
#include "solver/solve.h"
#include "tests/annex/annex_backend.h"
#include "tests/opencl_device.h"
#include "tests/planner/random_costs.h"
#include "tests/planner/run_plan.h"
#include "tests/tuner/known_machine.h"
#include "tuner/cost/run_overhead.h"
#include "tuner/model/recorded_plans.h"
#include "tuner/network/tune.h"

namespace fettle::runtime {
namespace {

using planner::Decision;

constexpr std::string_view kNet = R"(input %x: f32[1x4x9x8]
const %w1: f32[6x4x3x3]
const %b1: f32[6]
const %w2: f32[4x6x1x1]
%a = Conv(%x, %w1, %b1) {pads=[1,1,1,1]}
%b = Relu(%a)
%c = Sigmoid(%b)
%d = Conv(%c, %w2, _)
%e = Add(%d, %x)
%f = MaxPool(%e) {kernel_shape=[3,3], strides=[2,2]}
%g = Relu(%f)
output %g
output %e
)";

/// Costs that favour one of the devices for each kind of group, another for another.
class DealtCosts : public planner::CostSource {
 public:
  explicit DealtCosts(uint64_t seed) : seed_(seed) {}
  planner::EntryCost Kernel(const planner::Kind& kind, const planner::Entry& entry) override {
    const DeviceKind kinds[] = {DeviceKind::kCpu, DeviceKindOf("opencl"), kAnnex};
    const bool favoured = entry.kernel->device() == kinds[HashText(kind.text, seed_) % 3];
    return {.us = favoured ? 1.0 : 1000.0, .measured = true};
  }
  planner::EntryCost Conversion(const Shape&, DType, const State&, const State&, int) override {
    return {.us = 1, .measured = true};
  }

 private:
  uint64_t seed_;
};

class ThreeDevicesTest : public testing::Test {
 protected:
  void SetUp() override {
    kernels::AddBackend(kernels::AnnexBackend());
    if (!TestOpenClDevice().ok())
      GTEST_SKIP() << "no OpenCL device: " << TestOpenClDevice().status().message();
    opencl_ = *TestOpenClDevice();
    annex_ = OpenAccelerator("annex").value();
    graph_ = ops::Parse(kNet).value();
    ASSERT_TRUE(ops::InferGraph(graph_).ok());
    inputs_ = ir::NoiseInputs(graph_, 1).value();
    want_ = ops::EvaluateGraph(graph_, inputs_).value();
  }

  DeviceSet devices() const {
    const Device* const beside[] = {opencl_.get(), annex_.get()};
    return {cpu_, beside};
  }

  void ExpectRight(const Decision& decision) {
    // As it would be kept: devices by name.
    const Result<Decision> kept =
        planner::ParseDecision(graph_, planner::PrintDecision(graph_, decision));
    ASSERT_TRUE(kept.ok()) << kept.status().message();
    Result<exec::Plan> plan = planner::Apply(graph_, *kept, devices(), 2);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    const auto got = planner::RunPlan(graph_, std::move(*plan), devices(), inputs_);
    ASSERT_TRUE(got.ok()) << got.status().message();
    planner::ExpectClose(graph_, *got, want_, 1);
    if (HasFailure()) FAIL() << planner::PrintDecision(graph_, decision);
  }

  /// The devices whose kernels a decision takes.
  static std::set<DeviceKind> DevicesOf(const Decision& decision) {
    std::set<DeviceKind> kinds;
    for (const planner::GroupDecision& group : decision.groups)
      kinds.insert(kernels::FindKernel(group.kernel)->device());
    return kinds;
  }

  CpuDevice cpu_{std::make_shared<ThreadPool>(2)};
  std::shared_ptr<const Device> opencl_, annex_;
  ir::Graph graph_;
  std::vector<Tensor> inputs_, want_;
};

TEST_F(ThreeDevicesTest, AnyMixInOnePlan) {
  const planner::Limits limits{.threads = 2, .preferred = DeviceKindOf("opencl")};
  const planner::Catalogue catalogue = planner::ListCatalogue(graph_, devices(), limits).value();
  bool all_three = false;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    DealtCosts costs(seed);
    const auto extracted = planner::Extract(graph_, catalogue, costs, 2);
    ASSERT_TRUE(extracted.ok()) << extracted.status().message();
    const Result<solver::Solution> solution = solver::Solve(extracted->problem, {});
    ASSERT_TRUE(solution.ok()) << solution.status().message();
    const Decision decision = planner::ToDecision(graph_, catalogue, *extracted, *solution, 2);
    all_three |= DevicesOf(decision).size() == 3;
    ExpectRight(decision);
  }
  EXPECT_TRUE(all_three) << "the costs never choose all devices";
}

TEST_F(ThreeDevicesTest, HandOverThroughTheHost) {
  const planner::Limits limits{.threads = 2, .preferred = kAnnex, .accelerator_only = true};
  const Result<Decision> decision = planner::PreferredDecision(graph_, devices(), limits);
  ASSERT_TRUE(decision.ok()) << decision.status().message();
  EXPECT_EQ(DevicesOf(*decision), (std::set<DeviceKind>{kAnnex, DeviceKindOf("opencl")}));
  const exec::Plan plan = planner::Apply(graph_, *decision, devices(), 2).value();
  for (const exec::PlannedStep& step : plan.steps) {
    if (step.kernel != nullptr) continue;
    const State& from = plan.tensors[static_cast<size_t>(step.inputs[0])].state;
    const State& to = plan.tensors[static_cast<size_t>(step.outputs[0])].state;
    EXPECT_TRUE(from.device == DeviceKind::kCpu || to.device == DeviceKind::kCpu);
  }
  ExpectRight(*decision);
  const Status direct =
      kernels::CheckConversion({1, 2}, kernels::AnnexState(),
                               {.device = DeviceKindOf("opencl"), .memory = MemoryKind::kBuffer});
  EXPECT_EQ(direct.message(), "annex and opencl hand over through the memory of the CPU");
}

TEST_F(ThreeDevicesTest, AreWaitedForOnceForEachTensorThatComesBack) {
  const planner::Limits limits{.threads = 2, .preferred = kAnnex, .accelerator_only = true};
  const Decision decision = planner::PreferredDecision(graph_, devices(), limits).value();
  const exec::Plan plan = planner::Apply(graph_, decision, devices(), 2).value();
  int from_annex = 0;
  for (const exec::PlannedStep& step : plan.steps)
    from_annex += step.kernel == nullptr && plan.tensors[step.inputs[0]].state.device == kAnnex;
  EXPECT_GT(from_annex, 1) << "all stays on one device";
  EXPECT_EQ(tuner::WaitsFor(plan, *annex_), from_annex);
  const Decision alone = planner::PreferredDecision(graph_, cpu_, {.threads = 2}).value();
  EXPECT_EQ(tuner::WaitsFor(planner::Apply(graph_, alone, cpu_, 2).value(), *annex_), 0);
}

TEST_F(ThreeDevicesTest, SampleARunWhoseStepsAreKnown) {
  const auto store = tuner::StoreWithCeilings(cpu_);
  tuner::RecordedPlans plans(planner::PreferredPlans());
  const planner::Limits limits{.threads = 2, .preferred = kAnnex};
  ASSERT_TRUE(plans.PlanFor(graph_, devices(), limits).ok());
  EXPECT_FALSE(plans.Sample(*annex_, false, *store)) << "nothing was measured";
  ASSERT_TRUE(
      tuner::TuneGraph(graph_, devices(), limits, {.level = tuner::Level::kFast}, *store, nullptr)
          .ok());
  const auto sample = plans.Sample(*annex_, false, *store);
  ASSERT_TRUE(sample.has_value());
  EXPECT_GT(sample->steps_us, 0);
  EXPECT_GE(sample->waits, 1);
  ASSERT_TRUE(plans.PlanFor(graph_, devices(), limits).ok());
  EXPECT_FALSE(plans.Sample(*annex_, false, *store)) << "two plans";
}

/// Knows that all others are slow, so that the annex is tried on any machine, however fast; at
/// levels that do not expect of it that it is as far from its bounds as they are.
class SlowOthers : public tuner::StoreOnTop {
 public:
  using StoreOnTop::StoreOnTop;
  Result<tuner::Row> Find(const tuner::RowKey& key) override {
    const kernels::KernelDesc* const kernel = kernels::FindKernel(key.kernel);
    const bool other = kernel != nullptr && kernel->device() != kAnnex;
    if (!other || tuner::IsCalibration(key)) return StoreOnTop::Find(key);
    return tuner::Row{.median_us = 1e5, .low_us = 1e5, .samples = 100};
  }
};

/// Counts what is measured on the annex.
class AnnexRows final : public SlowOthers {
 public:
  using SlowOthers::SlowOthers;
  void Put(const tuner::RowKey& key, const tuner::Row& row) override {
    StoreOnTop::Put(key, row);
    if (!key.kernel.starts_with("annex.")) return;
    EXPECT_EQ(key.device, "annex 1");
    EXPECT_TRUE(row.status == tuner::Row::Status::kOk || row.status == tuner::Row::Status::kStopped)
        << key.kernel << ": " << row.reason;
    measured.insert(key.kernel);
  }
  std::set<std::string> measured;
};

TEST_F(ThreeDevicesTest, AreTunedTogether) {
  AnnexRows store(tuner::StoreWithCeilings(cpu_));
  tuner::TuneReport report;
  const planner::Limits limits{.threads = 2, .preferred = DeviceKindOf("opencl")};
  const Result<Decision> decision =
      tuner::TuneGraph(graph_, devices(), limits, {.level = tuner::Level::kWide}, store, &report);
  ASSERT_TRUE(decision.ok()) << decision.status().message();
  EXPECT_FALSE(store.measured.empty());
  for (const auto& rejected : report.rejected)
    EXPECT_FALSE(rejected.kernel.starts_with("annex.")) << rejected.kernel;
  ExpectRight(*decision);
}

/// What became of kernels of the annex.
class AnnexOutcomes final : public SlowOthers {
 public:
  using SlowOthers::SlowOthers;
  void Put(const tuner::RowKey& key, const tuner::Row& row) override {
    StoreOnTop::Put(key, row);
    if (key.kernel.starts_with("annex.")) of[key.kernel].push_back(row);
  }
  std::map<std::string, std::vector<tuner::Row>> of;
};

TEST_F(ThreeDevicesTest, AKernelThatTakesItsDeviceEndsTheTuningAndIsNotTriedAgain) {
  AnnexOutcomes store(tuner::StoreWithCeilings(cpu_));
  const auto tune = [&] {
    return tuner::TuneGraph(graph_, devices(), {.threads = 2}, {.level = tuner::Level::kWide},
                            store, nullptr);
  };
  FaultsOfAnnex() = {.deadly_op = "Relu"};
  const Result<Decision> lost = tune();
  FaultsOfAnnex() = {};
  EXPECT_EQ(lost.status().code(), StatusCode::kDeviceUnavailable);
  EXPECT_TRUE(lost.status().message().starts_with("annex.relu with ")) << lost.status().message();
  ASSERT_EQ(store.of["annex.relu"].size(), 1u);
  EXPECT_EQ(store.of["annex.relu"][0].status, tuner::Row::Status::kCrashed);
  for (const auto& [kernel, rows] : store.of)
    for (const tuner::Row& row : rows)
      EXPECT_NE(row.status, tuner::Row::Status::kFailed) << kernel << " failed for another";

  const Result<Decision> again = tune();
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(store.of["annex.relu"].size(), 1u);
  EXPECT_FALSE(store.of["annex.conv"].empty());
  ExpectRight(*again);
}

TEST_F(ThreeDevicesTest, RunInASession) {
  const auto model = Model::FromGraph(graph_, "net").value();
  SessionOptions options{.threads = 2, .accelerators = {annex_, opencl_}, .accelerator_only = true};
  const auto session = Session::Create(model, options);
  ASSERT_TRUE(session.ok()) << session.status().message();
  TensorMap outputs;
  const Status status = (*session)->Run({{"x", inputs_[0]}}, &outputs);
  ASSERT_TRUE(status.ok()) << status.message();
  planner::ExpectClose(graph_, {outputs.at("g"), outputs.at("e")}, want_, 1);
  std::set<std::string> ran;
  for (const exec::StepProfile& step : (*session)->profile()) ran.insert(step.device);
  EXPECT_TRUE(ran.contains("annex") && ran.contains("opencl"));
  EXPECT_GT((*session)->transfers().copies, 0);
  EXPECT_GT((*session)->memory().device_bytes, 0);
  EXPECT_EQ((*session)->devices().fingerprint(),
            fmt::format("{} + annex 1 + {}", cpu_.fingerprint(), opencl_->fingerprint()));
}

TEST_F(ThreeDevicesTest, OneOfAKind) {
  const auto model = Model::FromGraph(graph_, "net").value();
  const auto session = Session::Create(model, {.accelerators = {annex_, opencl_, annex_}});
  EXPECT_EQ(session.status().message(),
            "devices: 'annex' is listed twice; a session takes at most one of each kind");
}

TEST_F(ThreeDevicesTest, NamesFollowFromTheTable) {
  EXPECT_EQ(kernels::DeviceChoices(), "auto|cpu|opencl[:PLATFORM[:DEVICE]]|annex");
  EXPECT_EQ(OpenAccelerator("cpu:1").status().message(),
            "device: expected auto|cpu|opencl[:PLATFORM[:DEVICE]]|annex, got 'cpu:1'");
  EXPECT_EQ(OpenAccelerator("cpu").value(), nullptr);
}

/// What a plan of another machine says of devices that are not there.
TEST_F(ThreeDevicesTest, ADecisionForAnAbsentDeviceIsRefused) {
  const planner::Limits limits{.threads = 2, .preferred = kAnnex};
  const Decision decision = planner::PreferredDecision(graph_, devices(), limits).value();
  const auto plan = planner::Apply(graph_, decision, DeviceSet(cpu_), 2);
  EXPECT_EQ(plan.status().code(), StatusCode::kVersionMismatch);
  Decision strange = planner::PreferredDecision(graph_, DeviceSet(cpu_), {.threads = 2}).value();
  const ir::ValueId x = graph_.inputs[0];
  const State nowhere{.device = DeviceKindOf("nowhere"), .memory = MemoryKind::kBuffer};
  for (const planner::GroupDecision& group : strange.groups) {
    for (const State& state : group.states.inputs)
      strange.conversions.push_back({x, nowhere, state, 0});
  }
  EXPECT_EQ(planner::Apply(graph_, strange, DeviceSet(cpu_), 2).status().message(),
            "the plan keeps 'x' on 'nowhere', which is not available");
}

}  // namespace
}  // namespace fettle::runtime
