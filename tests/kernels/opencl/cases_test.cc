// Every case x OpenCL kernel x states x parameters against the oracle, on TestOpenClDevice().
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/hash.h"
#include "kernels/opencl/opencl_backend.h"
#include "tests/case_printer.h"
#include "tests/kernels/kernel_check.h"
#include "tests/opencl_device.h"

namespace fettle::kernels {

extern const KernelDesc kOpenClConvDirect;
extern const KernelDesc kOpenClConvLocal;
extern const KernelDesc kOpenClRecurrentSteps;

namespace {

/// Programs are what costs time on a device that compiles: states after the first are run with
/// their default parameters alone, groups of several nodes in the first state and the last.
constexpr int kOtherParams = 1;

/// States of one kernel in one case; with FETTLE_FULL_TESTS all of them. Others are met in other
/// cases.
constexpr size_t kStatesPerCase = 1;

/// Keeps kStatesPerCase of `candidates`, other ones from case to case.
void ThinOut(std::string_view case_name, std::vector<StateAssignment>& candidates) {
  if (std::getenv("FETTLE_FULL_TESTS") != nullptr || candidates.size() <= kStatesPerCase) return;
  std::rotate(candidates.begin(),
              candidates.begin() + static_cast<ptrdiff_t>(HashText(case_name) % candidates.size()),
              candidates.end());
  candidates.resize(kStatesPerCase);
}

/// Runs `kernel` on `group`, in several states. Returns how many runs.
int RunAll(const KernelDesc& kernel, std::string_view case_name, const CaseGroup& group,
           const Device& device) {
  auto candidates = CandidatesOf(kernel, *group.graph, device);
  if (!candidates.ok()) {
    EXPECT_EQ(candidates.status().code(), StatusCode::kUnsupported)
        << kernel.name << ": " << candidates.status().message();
    return 0;
  }
  ThinOut(case_name, *candidates);
  int runs = 0;
  for (const StateAssignment& states : *candidates) {
    const bool is_edge = &states == &candidates->front() || &states == &candidates->back();
    if (group.graph->nodes().size() > 1 && !is_edge) continue;
    KernelRun run{kernel, group, {group.graph, states, 1}, {}, ""};
    const int others = runs == 0 ? kOtherParams : 0;
    for (const Params& params : ParamsToTry(kernel, run.problem, device, others)) {
      run.params = params;
      const testing::AssertionResult result = CheckRun(run, device);
      EXPECT_TRUE(result);
      ++runs;
      if (!result) break;  // one failure per state says enough
    }
  }
  return runs;
}

class OpenClCasesTest : public testing::TestWithParam<ops::Case> {};

TEST_P(OpenClCasesTest, EveryKernelAgreesWithTheOracle) {
  const auto& device = TestOpenClDevice();
  if (!device.ok()) GTEST_SKIP() << "no OpenCL device: " << device.status().message();
  const Result<EvaluatedCase> evaluated = EvaluateCase(GetParam());
  if (!evaluated.ok()) GTEST_SKIP() << evaluated.status().message();
  int runs = 0;
  for (const CaseGroup& group : GroupsOf(*evaluated)) {
    for (const KernelDesc* kernel : OpenClKernels())
      if (kernel->arithmetic != Arithmetic::kF16)  // opencl_half_test.cc
        runs += RunAll(*kernel, GetParam().name, group, **device);
  }
  if (runs == 0) GTEST_SKIP() << "no OpenCL kernel takes this case";
}

/// Those that are not for timing: compilers take longer than the arithmetic.
std::vector<ops::Case> SmallCases() {
  std::vector<ops::Case> cases = ops::AllCases();
  std::erase_if(cases, [](const ops::Case& test) { return test.bench; });
  return cases;
}

/// The slices of a depth that is no multiple of them add up, whichever number shares it.
TEST(OpenClCasesOfSlices, AddUpToTheOraclesSums) {
  const auto& device = TestOpenClDevice();
  if (!device.ok()) GTEST_SKIP() << "no OpenCL device: " << device.status().message();
  const std::vector<ops::Case> all = ops::AllCases();
  const auto test = std::find_if(all.begin(), all.end(), [](const ops::Case& candidate) {
    return candidate.name == "conv.3x3_channels_33";
  });
  ASSERT_NE(test, all.end());
  const Result<EvaluatedCase> evaluated = EvaluateCase(*test);
  ASSERT_TRUE(evaluated.ok()) << evaluated.status().message();
  const CaseGroup group = GroupsOf(*evaluated).front();
  const auto candidates = CandidatesOf(kOpenClConvLocal, *group.graph, **device);
  ASSERT_TRUE(candidates.ok()) << candidates.status().message();
  for (const int64_t slices : {2, 4}) {
    KernelRun run{kOpenClConvLocal, group, {group.graph, candidates->front(), 1}, {}, ""};
    run.params = DefaultParams(kOpenClConvLocal, run.problem, **device);
    run.params["slices"] = slices;
    ASSERT_TRUE(SpaceOf(kOpenClConvLocal, run.problem, **device).check(run.params).ok());
    EXPECT_TRUE(CheckRun(run, **device)) << slices << " slices";
  }
}

TEST(OpenClTaste, IsLowWhereALocalTileWouldBeMostlyEmpty) {
  const auto& device = TestOpenClDevice();
  if (!device.ok()) GTEST_SKIP() << "no OpenCL device: " << device.status().message();
  const auto taste_of = [&](int channels) {
    const CaseGroup group =
        ParseGroup(fmt::format("input %x: f32[1x8x6x6]\nconst %w: f32[{}x8x3x3]\n"
                               "%y = Conv(%x, %w) {{pads=[1,1,1,1]}}\noutput %y\n",
                               channels));
    const auto match = MatchGroup(kOpenClConvLocal, group.graph, **device);
    return match.ok() ? (*match)->taste() : -2;
  };
  EXPECT_EQ(taste_of(4), 1);
  EXPECT_EQ(taste_of(8), 4);
}

/// The general kernel takes what others know more of, behind them.
TEST(OpenClTaste, OfTheGeneralConvolutionIsLowWhereAnotherKnowsTheWindow) {
  const auto& device = TestOpenClDevice();
  if (!device.ok()) GTEST_SKIP() << "no OpenCL device: " << device.status().message();
  const auto taste_of = [&](std::string_view weights, int groups) {
    const CaseGroup group = ParseGroup(
        fmt::format("input %x: f32[1x8x6x6]\nconst %w: f32[{}]\n%y = Conv(%x, %w) {{group={}}}\n"
                    "output %y\n",
                    weights, groups));
    const auto match = MatchGroup(kOpenClConvDirect, group.graph, **device);
    return match.ok() ? (*match)->taste() : -1;
  };
  EXPECT_EQ(taste_of("8x8x1x1", 1), 1);
  EXPECT_EQ(taste_of("8x1x3x3", 8), 1);
  EXPECT_GE(taste_of("8x4x3x3", 2), 3);
}

/// The forms in which steps of recurrent layers are launched.
class OpenClSteps : public testing::TestWithParam<ops::Case> {};

TEST_P(OpenClSteps, AgreeWithTheOracleInEachForm) {
  const auto& device = TestOpenClDevice();
  if (!device.ok()) GTEST_SKIP() << "no OpenCL device: " << device.status().message();
  const Result<EvaluatedCase> evaluated = EvaluateCase(GetParam());
  ASSERT_TRUE(evaluated.ok()) << evaluated.status().message();
  int runs = 0;
  for (const CaseGroup& group : GroupsOf(*evaluated)) {
    const auto candidates = CandidatesOf(kOpenClRecurrentSteps, *group.graph, **device);
    if (!candidates.ok()) continue;
    for (const int64_t spread : {0, 1, 2}) {
      KernelRun run{kOpenClRecurrentSteps, group, {group.graph, candidates->front(), 1}, {}, ""};
      run.params = DefaultParams(kOpenClRecurrentSteps, run.problem, **device);
      run.params["spread"] = spread;
      if (!SpaceOf(kOpenClRecurrentSteps, run.problem, **device).check(run.params).ok()) continue;
      EXPECT_TRUE(CheckRun(run, **device)) << "spread " << spread;
      ++runs;
    }
  }
  if (runs == 0) GTEST_SKIP() << "the kernel does not take this case";
}

std::vector<ops::Case> RecurrentLayers() {
  std::vector<ops::Case> cases = ops::AllCases();
  std::erase_if(cases, [](const ops::Case& test) {
    return test.bench || !test.name.starts_with("recurrent.");
  });
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, OpenClSteps, testing::ValuesIn(RecurrentLayers()), ops::CaseTestName);

INSTANTIATE_TEST_SUITE_P(All, OpenClCasesTest, testing::ValuesIn(SmallCases()), ops::CaseTestName);

}  // namespace
}  // namespace fettle::kernels
