// Plans of two devices compute what the oracle computes, whatever they are made of.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "device/opencl/opencl_device.h"
#include "kernels/backend.h"
#include "kernels/problem_text.h"
#include "planner/catalogue.h"
#include "planner/choices.h"
#include "planner/cover.h"
#include "planner/extract.h"
#include "planner/planner.h"
#include "solver/solve.h"
#include "tests/planner/random_costs.h"
#include "tests/planner/run_plan.h"

namespace fettle::planner {
namespace {

/// What f16 storage adds to the error of a sum, as a share of the largest result.
constexpr double kHalfError = 0.01;
/// The step of the quantised network, which rounding may fall to either side of.
constexpr double kStep = 0.05;

class OpenClPlanTest : public testing::TestWithParam<std::string_view> {
 protected:
  void SetUp() override {
    const char* named = std::getenv("FETTLE_DEVICE");
    const std::string_view text = named == nullptr ? "" : named;
    const size_t colon = std::min(text.find(':'), text.size());
    auto opened = OpenClDevice::Open(text.substr(std::min(colon + 1, text.size())));
    if (!opened.ok()) GTEST_SKIP() << "no OpenCL device: " << opened.status().message();
    accelerator_ = *opened;
    graph_ = ops::Parse(GetParam()).value();
    ASSERT_TRUE(ops::InferGraph(graph_).ok());
    inputs_ = ir::NoiseInputs(graph_, 1).value();
    want_ = ops::EvaluateGraph(graph_, inputs_).value();
  }

  DeviceSet devices() const { return {cpu_, accelerator_.get()}; }

  void ExpectRight(const Decision& decision, bool halves) {
    Result<exec::Plan> plan = Apply(graph_, decision, devices(), 2);
    ASSERT_TRUE(plan.ok()) << plan.status().message() << PrintDecision(graph_, decision);
    const auto got = RunPlan(graph_, std::move(*plan), devices(), inputs_);
    ASSERT_TRUE(got.ok()) << got.status().message();
    if (!halves) {
      ExpectClose(graph_, *got, want_, 1);
    } else {
      for (size_t i = 0; i < want_.size(); ++i) {
        double largest = GetParam() == kQuantised ? kStep / kHalfError : 0;
        for (float x : want_[i].as<float>()) largest = std::max(largest, std::fabs(double{x}));
        const Difference difference =
            Compare((*got)[i].view(), want_[i].view(), {.atol = kHalfError * largest, .rtol = 0});
        EXPECT_TRUE(difference.ok()) << difference.ToString(want_[i].shape());
      }
    }
    if (HasFailure()) FAIL() << PrintDecision(graph_, decision);
  }

  CpuDevice cpu_{std::make_shared<ThreadPool>(2)};
  std::shared_ptr<const Device> accelerator_;
  ir::Graph graph_;
  std::vector<Tensor> inputs_, want_;
};

TEST_P(OpenClPlanTest, PreferredPlansInEveryMemoryAndPrecision) {
  for (const MemoryKind memory : {MemoryKind::kBuffer, MemoryKind::kImage2d}) {
    for (const Precision precision : {Precision::kHigh, Precision::kNormal}) {
      const Limits limits{
          .threads = 2, .preferred = DeviceKind::kOpenCl, .precision = precision, .memory = memory};
      const Result<Decision> decision = PreferredDecision(graph_, devices(), limits);
      ASSERT_TRUE(decision.ok()) << decision.status().message();
      ExpectRight(*decision, precision != Precision::kHigh);
    }
  }
}

TEST_P(OpenClPlanTest, LowPrecisionComputesInHalfWhereTheDeviceCan) {
  const auto& facts = static_cast<const OpenClDevice&>(*accelerator_).facts();
  accelerator_ = OpenClDevice::Open(facts.platform, {.emulate_fp16 = true}).value();
  const auto half_groups = [&](Precision precision) {
    const Limits limits{.threads = 2, .preferred = DeviceKind::kOpenCl, .precision = precision};
    const Result<Decision> decision = PreferredDecision(graph_, devices(), limits);
    EXPECT_TRUE(decision.ok()) << decision.status().message();
    if (decision.ok()) ExpectRight(*decision, true);
    return !decision.ok() ? 0
                          : std::count_if(decision->groups.begin(), decision->groups.end(),
                                          [](const GroupDecision& group) {
                                            const auto* kernel = FindKernel(group.kernel);
                                            return kernel->arithmetic == kernels::Arithmetic::kF16;
                                          });
  };
  EXPECT_EQ(half_groups(Precision::kNormal), 0);
  EXPECT_TRUE(GetParam() == kQuantised || half_groups(Precision::kLow) > 0);
}

/// Every slot: its kernel and problem, threads included where something runs.
std::set<std::string> SlotsOf(const Catalogue& catalogue) {
  std::set<std::string> slots;
  for (const Kind& kind : catalogue.kinds) {
    for (const Entry& entry : kind.entries) {
      kernels::Problem problem = kind.problem(entry);
      if (entry.is_view) problem.threads = 1;
      slots.insert(fmt::format("{}\n{}", entry.kernel->name, kernels::PrintProblem(problem)));
    }
  }
  return slots;
}

TEST_P(OpenClPlanTest, MoreDevicesThreadsAndPrecisionsOnlyAddSlots) {
  const auto slots = [&](const DeviceSet& devices, const Limits& limits) {
    return SlotsOf(ListCatalogue(graph_, devices, limits).value());
  };
  const auto all_in = [](const std::set<std::string>& part, const std::set<std::string>& whole) {
    return std::includes(whole.begin(), whole.end(), part.begin(), part.end());
  };
  const Limits high{.threads = 2, .preferred = DeviceKind::kOpenCl};
  Limits normal = high, low = high;
  normal.precision = Precision::kNormal;
  low.precision = Precision::kLow;
  EXPECT_TRUE(all_in(slots(devices(), high), slots(devices(), normal)));
  EXPECT_TRUE(all_in(slots(devices(), normal), slots(devices(), low)));
  EXPECT_TRUE(all_in(slots(devices().cpu(), {.threads = 2}), slots(devices(), high)));
  EXPECT_TRUE(
      all_in(slots(devices().cpu(), {.threads = 1}), slots(devices().cpu(), {.threads = 2})));
}

TEST_P(OpenClPlanTest, AnyMixOfBothDevices) {
  const Limits limits{.threads = 2, .preferred = DeviceKind::kOpenCl};
  const Catalogue catalogue = ListCatalogue(graph_, devices(), limits).value();
  bool mixed = false;
  for (uint64_t seed = 1; seed <= 6 || (!mixed && seed <= 40); ++seed) {
    RandomCosts costs(seed);
    const Result<Extracted> extracted = Extract(graph_, catalogue, costs, 2);
    ASSERT_TRUE(extracted.ok()) << extracted.status().message();
    const Result<solver::Solution> solution = solver::Solve(extracted->problem, {});
    ASSERT_TRUE(solution.ok()) << solution.status().message();
    const Decision decision = ToDecision(graph_, catalogue, *extracted, *solution, 2);
    const auto on_opencl = [](const GroupDecision& group) {
      return group.kernel.starts_with("opencl.");
    };
    const auto count = std::count_if(decision.groups.begin(), decision.groups.end(), on_opencl);
    mixed |= count > 0 && count < std::ssize(decision.groups);
    ExpectRight(decision, false);
  }
  EXPECT_TRUE(mixed) << "the costs never choose both devices";
}

std::string OpenClNetName(const testing::TestParamInfo<std::string_view>& info) {
  constexpr std::string_view kNames[] = {"Residual", "Branches", "Quantised"};
  return std::string(kNames[info.index]);
}

INSTANTIATE_TEST_SUITE_P(Nets, OpenClPlanTest, testing::Values(kResidual, kBranches, kQuantised),
                         OpenClNetName);

/// A group of two convolutions holds what two kernels would compute: where nobody knows that one
/// launch of both is faster, it is for plans that were measured.
TEST(OpenClSeparable, IsAChoiceThatUnmeasuredPlansOfACpuLeaveAlone) {
  auto opened = OpenClDevice::Open();
  if (!opened.ok()) GTEST_SKIP() << "no OpenCL device: " << opened.status().message();
  if (!(*opened)->facts().is_cpu) GTEST_SKIP() << "the device is no CPU";
  const CpuDevice cpu(std::make_shared<ThreadPool>(1));
  const DeviceSet devices(cpu, opened->get());
  ir::Graph graph = ops::Parse(R"(input %x: f32[1x16x9x11]
const %w: f32[16x1x3x3]
const %v: f32[24x16x1x1]
%a = Conv(%x, %w) {pads=[1,1,1,1], group=16}
%b = Relu(%a)
%y = Conv(%b, %v)
output %y
)")
                        .value();
  ASSERT_TRUE(ops::InferGraph(graph).ok());
  const Limits limits{.preferred = DeviceKind::kOpenCl};
  const auto is_separable = [](const kernels::KernelDesc* kernel) {
    return kernel->name == "opencl.conv.separable";
  };
  const Cover cover = GreedyCover(graph, devices, limits).value();
  EXPECT_EQ(cover.size(), 2U);
  for (const GroupChoices& group : cover) EXPECT_FALSE(is_separable(group.choices.at(0).kernel));
  const Catalogue catalogue = ListCatalogue(graph, devices, limits).value();
  EXPECT_TRUE(std::any_of(catalogue.kinds.begin(), catalogue.kinds.end(), [&](const Kind& kind) {
    return std::any_of(kind.entries.begin(), kind.entries.end(),
                       [&](const Entry& entry) { return is_separable(entry.kernel); });
  }));
}

/// bf16 reaches as far as f32, f16 does not.
TEST(OpenClProducts, StoreNoBf16AsF16AtHighPrecision) {
  auto opened = OpenClDevice::Open();
  if (!opened.ok()) GTEST_SKIP() << "no OpenCL device: " << opened.status().message();
  const auto& facts = (*opened)->facts();
  const auto device =
      OpenClDevice::Open(facts.platform, {.emulate_fp16 = true, .emulate_mma = true}).value();
  const CpuDevice cpu(std::make_shared<ThreadPool>(1));
  const DeviceSet devices(cpu, device.get());
  ir::Graph graph = ops::Parse(
                        "input %a: bf16[24x64]\ninput %b: bf16[64x40]\n"
                        "%y = MatMul(%a, %b)\noutput %y\n")
                        .value();
  ASSERT_TRUE(ops::InferGraph(graph).ok());
  const auto halves = [&](Precision precision) {
    const Limits limits{
        .preferred = DeviceKind::kOpenCl, .accelerator_only = true, .precision = precision};
    const GroupChoices made = ListChoices(graph, {.nodes = {ir::NodeId{0}}}, devices, limits);
    EXPECT_FALSE(made.choices.empty());
    return std::ranges::count_if(made.choices, [](const Choice& choice) {
      return choice.states().outputs[0].storage == DType::kF16;
    });
  };
  EXPECT_EQ(halves(Precision::kHigh), 0);
  EXPECT_GT(halves(Precision::kNormal), 0);
}

/// What `plan --explain` prints of a product: every step of the ladder, taken or with its reason.
TEST(OpenClProducts, EveryStepOfTheLadderIsAChoiceOrSaysWhyNot) {
  auto opened = OpenClDevice::Open();
  if (!opened.ok()) GTEST_SKIP() << "no OpenCL device: " << opened.status().message();
  const CpuDevice cpu(std::make_shared<ThreadPool>(1));
  const DeviceSet devices(cpu, opened->get());
  for (const std::string_view text :
       {"input %a: f32[24x200]\ninput %b: f32[200x40]\n%y = MatMul(%a, %b)\noutput %y\n",
        "input %a: f32[1x64]\nconst %b: f32[8x64]\n%y = Gemm(%a, %b) {transB=1}\noutput %y\n"}) {
    ir::Graph graph = ops::Parse(text).value();
    ASSERT_TRUE(ops::InferGraph(graph).ok());
    const Limits limits{.preferred = DeviceKind::kOpenCl};
    const Catalogue catalogue = ListCatalogue(graph, devices, limits).value();
    ASSERT_EQ(catalogue.kinds.size(), 1U);
    const Kind& kind = catalogue.kinds[0];
    for (const kernels::LadderStep& step :
         kernels::FindBackend(DeviceKind::kOpenCl)->product_ladder().floats) {
      const bool is_choice =
          std::any_of(kind.entries.begin(), kind.entries.end(),
                      [&](const Entry& entry) { return entry.kernel->name == step.kernel; });
      const auto rejected =
          std::find_if(kind.rejected.begin(), kind.rejected.end(),
                       [&](const Rejection& one) { return one.kernel == step.kernel; });
      ASSERT_NE(kernels::FindKernel(step.kernel), nullptr) << step.kernel;
      EXPECT_NE(is_choice, rejected != kind.rejected.end()) << step.name;
      if (!is_choice) {
        EXPECT_FALSE(rejected->reason.empty()) << step.name;
      }
    }
  }
}

}  // namespace
}  // namespace fettle::planner
