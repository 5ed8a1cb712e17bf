// Sessions whose plans launch several steps as one: the same bits, whatever the plan says.
#include <gmock/gmock.h>

#include <cstring>

#include "base/log.h"
#include "ir/noise.h"
#include "ops/op.h"
#include "tests/opencl_device.h"
#include "tests/runtime/chained_plans.h"
#include "tuner/model/chain_search.h"
#include "tuner/model/kept_plans.h"

namespace fettle::runtime {
namespace {

using exec::StepChain;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kChainedNet = R"(input %x: f32[1x4x12x12]
const %w: f32[8x4x3x3]
const %v: f32[8x8x1x1]
%a = Conv(%x, %w, _) {pads=[1,1,1,1]}
%b = MaxPool(%a) {kernel_shape=[2,2], strides=[2,2]}
%c = Conv(%b, %v, _)
%d = Softmax(%c) {axis=1}
%e = Add(%d, %b)
output %e
)";

class OpenClLaunchChains : public testing::Test {
 protected:
  void SetUp() override {
    if (!TestOpenClDevice().ok()) GTEST_SKIP() << "no OpenCL device";
    device_ = *TestOpenClDevice();
    if (const Status status = device_->CheckChains(); !status.ok())
      GTEST_SKIP() << "no OpenCL device with chains: " << status.message();
    SetLogSink([this](LogLevel, std::string_view line) { warnings_ += std::string(line) + "\n"; },
               LogLevel::kWarn);
    inputs_.emplace("x", ir::NoiseTensor(DType::kF32, {1, 4, 12, 12}, 7, {-1, 1}).value());
    const auto without = NewSession({}, /*waits=*/true);
    ASSERT_TRUE(without->Run(inputs_, &want_).ok());
    proposed_ = tuner::ProposeChains(plans_->plan, without->profile());
    ASSERT_FALSE(proposed_.empty());
    chain_ = proposed_[0];
  }
  void TearDown() override { SetLogSink(nullptr, LogLevel::kWarn); }

  std::shared_ptr<Session> NewSession(std::vector<StepChain> chains, bool waits = false) {
    plans_ = std::make_shared<ChainedPlans>(std::move(chains));
    auto session = Session::Create(model_, {.threads = 1,
                                            .plans = plans_,
                                            .accelerators = {device_},
                                            .accelerator_only = true,
                                            .waits_for_steps = waits});
    return std::move(*session);
  }
  /// Runs it, and counts its chains.
  int64_t RunsRight(Session& session) {
    TensorMap got;
    const Status status = session.Run(inputs_, &got);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(std::memcmp(got.at("e").data(), want_.at("e").data(), 8 * 6 * 6 * sizeof(float)), 0);
    return ChainsOf(session);
  }
  static int64_t ChainsOf(const Session& session) {
    return std::ranges::count(session.profile(), "Chain", &exec::StepProfile::op);
  }
  std::shared_ptr<TensorBuffer> Place(const Tensor& like) {
    const State state{
        .device = device_->kind(), .memory = MemoryKind::kBuffer, .storage = like.dtype()};
    return TensorBuffer::Create(device_, like.dtype(), like.shape(), state).value();
  }
  tuner::ChainSearch::NewSession Sessions() {
    return [this](const std::vector<StepChain>& chains, bool waits) {
      return Result<std::shared_ptr<Session>>(NewSession(chains, waits));
    };
  }

  std::shared_ptr<OpenClDevice> device_;
  std::shared_ptr<const Model> model_ =
      Model::FromGraph(ops::Parse(kChainedNet).value(), "model").value();
  TensorMap inputs_, want_;
  std::shared_ptr<ChainedPlans> plans_;
  std::vector<StepChain> proposed_;
  StepChain chain_;
  std::string warnings_;
};

TEST_F(OpenClLaunchChains, ComputeTheSameBitsRunAfterRun) {
  const auto session = NewSession({chain_});
  for (int run = 0; run < 3; ++run) EXPECT_EQ(RunsRight(*session), 1);
  EXPECT_EQ(session->profile().size(), plans_->plan.steps.size() - (chain_.end - chain_.begin) + 1);
  EXPECT_EQ(warnings_, "");
}

TEST_F(OpenClLaunchChains, WorkGroupsThatAreNotThereAtOnceAreLaunchedOneByOneFromThenOn) {
  if (!device_->facts().is_cpu) GTEST_SKIP() << "has no OpenCL device that runs so few at once";
  chain_.groups = 16 * device_->facts().compute_units;
  const auto session = NewSession({chain_});
  EXPECT_EQ(RunsRight(*session), 0);
  EXPECT_THAT(warnings_, HasSubstr("were not on the device at once"));
  warnings_.clear();
  EXPECT_EQ(RunsRight(*session), 0);
  EXPECT_EQ(warnings_, "") << "it is said once";
}

TEST_F(OpenClLaunchChains, RunOnTensorsInTheDevicesMemory) {
  for (const int groups : {0, 16 * device_->facts().compute_units}) {
    if (groups > 0 && !device_->facts().is_cpu) continue;
    chain_.groups = groups;
    const auto session = NewSession({chain_});
    for (int buffers = 0; buffers < 2; ++buffers) {
      const auto x = Place(inputs_.at("x")), e = Place(want_.at("e"));
      ASSERT_TRUE(x->WriteFromHost(inputs_.at("x")).ok());
      for (int run = 0; run < 2; ++run) {
        TensorMap others;
        ASSERT_TRUE(session->RunOn({{"x", x}}, {{"e", e}}, &others).ok());
        EXPECT_EQ(ChainsOf(*session), groups == 0 ? 1 : 0);
        const Tensor got = e->ReadToHost().value();
        EXPECT_TRUE(std::ranges::equal(got.bytes(), want_.at("e").bytes()));
      }
    }
  }
}

TEST_F(OpenClLaunchChains, WhatCannotBeOneLaunchIsLaunchedOneByOne) {
  const auto session =
      Session::Create(model_, {.threads = 1,
                               .plans = std::make_shared<ChainedPlans>(std::vector{chain_}),
                               .accelerators = {device_},
                               .accelerator_only = true,
                               .kernel_ms = 1});
  ASSERT_TRUE(session.ok());
  EXPECT_EQ(RunsRight(**session), 0);
  EXPECT_EQ(RunsRight(**session), 0);
  EXPECT_THAT(warnings_, HasSubstr("launched one by one: launches are split"));
}

TEST_F(OpenClLaunchChains, AreTriedWhereWorkGroupsDoNotWaitForCores) {
  const Status status = device_->ChainsMayPay();
  EXPECT_EQ(status.ok(), !device_->facts().is_cpu);
  if (!status.ok()) {
    EXPECT_THAT(status.message(), HasSubstr("the cores of a CPU have other work"));
  }
}

TEST_F(OpenClLaunchChains, AreCheckedAgainstThePlan) {
  exec::Plan plan = plans_->plan;
  const auto refuses = [&](std::vector<StepChain> chains) {
    plan.chains = std::move(chains);
    return exec::CheckChains(plan).code() == StatusCode::kCorrupt;
  };
  const int steps = static_cast<int>(plan.steps.size());
  EXPECT_FALSE(refuses({chain_}));
  EXPECT_TRUE(refuses({{.begin = -1, .end = 2}}));
  EXPECT_TRUE(refuses({{.begin = chain_.begin, .end = chain_.begin + 1}}));
  EXPECT_TRUE(refuses({{.begin = chain_.begin, .end = steps + 1}}));
  EXPECT_TRUE(refuses({{.begin = chain_.begin, .end = 2147483647}}));
  EXPECT_TRUE(refuses({{.begin = chain_.begin, .end = chain_.end, .groups = -1}}));
  EXPECT_TRUE(refuses({{.begin = chain_.begin, .end = chain_.end, .groups = 1 << 20}}));
  EXPECT_TRUE(refuses({chain_, chain_}));
  EXPECT_TRUE(refuses({{.begin = 0, .end = steps}})) << "what goes to the host";
}

TEST_F(OpenClLaunchChains, ThatDoNotFitTheirPackageArePlannedAnew) {
  const ir::Graph graph = [] {
    ir::Graph parsed = ops::Parse(kChainedNet).value();
    EXPECT_TRUE(ops::InferGraph(parsed).ok());
    return parsed;
  }();
  const CpuDevice cpu{std::make_shared<ThreadPool>(1)};
  const DeviceSet devices(cpu, device_.get());
  const planner::Limits limits{.threads = 1, .preferred = DeviceKind::kOpenCl};
  planner::Decision decision = planner::PreferredDecision(graph, devices, limits).value();
  decision.chains = {{.begin = 1, .end = 3}};
  const std::string text = planner::PrintDecision(graph, decision);
  EXPECT_THAT(text, HasSubstr("chain 1 3 groups 0\n"));
  EXPECT_EQ(planner::ParseDecision(graph, text).value(), decision);
  decision.chains = {{.begin = 1, .end = 300}};
  EXPECT_EQ(planner::Apply(graph, decision, devices, 1).status().code(), StatusCode::kCorrupt);
  const auto book = std::make_shared<planner::PlanBook>();
  book->Put({planner::KeyOf(graph, devices, limits), planner::PrintDecision(graph, decision)});
  const auto plan = planner::PlansOf(book)->PlanFor(graph, devices, limits);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_THAT(plan->chains, IsEmpty());
  EXPECT_THAT(warnings_, HasSubstr("the kept plan does not fit"));
}

TEST_F(OpenClLaunchChains, AreNotKeptWhereTheyTakeAsLong) {
  const auto search = [&](const std::function<int64_t()>& now_ns) {
    const exec::Plan plan = plans_->plan;
    tuner::ChainSearch made(plan, inputs_, Sessions(), {.now_ns = now_ns}, INT64_MAX);
    EXPECT_TRUE(made.Run(NewSession({})).ok());
    EXPECT_FALSE(made.tried().empty());
    return made.chains();
  };
  int64_t now = 0;
  EXPECT_THAT(search([&] { return now += 1000; }), IsEmpty()) << "as long as without";
  EXPECT_EQ(warnings_, "");
}

TEST(TriedChains, ParseBackAndAreFoundForTheirPlan) {
  const std::vector<tuner::TriedChain> tried = {{{3, 9, 0}, true, 0.91, "faster: 0.91 of the time"},
                                                {{12, 14, 0}, false, 0, "computes other values"}};
  EXPECT_EQ(tuner::ParseChains(tuner::PrintChains(tried)).value(), tried);
  EXPECT_FALSE(tuner::ParseChains("3 9 x").ok());
  EXPECT_THAT(tuner::ParseChains("").value(), IsEmpty());
  const auto store = tuner::MemoryStore();
  const planner::DecisionKey key{.graph = 1};
  tuner::KeepChains(key, {}, "the plan", tried, *store);
  EXPECT_EQ(tuner::FindChains(key, "the plan", *store).value(), tried);
  EXPECT_EQ(tuner::FindChains(key, "", *store).value(), tried);
  EXPECT_FALSE(tuner::FindChains(key, "another", *store).ok());
  tuner::KeepChains(key, {}, "the plan", {}, *store);
  EXPECT_THAT(tuner::FindChains(key, "the plan", *store).value(), IsEmpty());
}

}  // namespace
}  // namespace fettle::runtime
