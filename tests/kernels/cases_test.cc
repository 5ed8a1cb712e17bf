// Every case x kernel x states x parameters x SIMD target x threads against the oracle.
#include "ops/cases.h"

#include <gtest/gtest.h>

#include <random>

#include "kernels/cpu/simd/targets.h"
#include "tests/case_printer.h"
#include "tests/kernels/kernel_check.h"

namespace fettle::kernels {
namespace {

/// Parameter combinations besides the default.
constexpr int kRandomParams = 3;

/// The default parameters and a few other valid ones, the same in every run.
std::vector<Params> ParamsToTry(const KernelDesc& kernel, const Problem& problem,
                                const Device& device) {
  std::vector<Params> all{DefaultParams(kernel, problem, device)};
  if (kernel.tunables == nullptr) return all;
  const std::vector<Tunable> tunables = kernel.tunables(problem, device);
  std::mt19937 random(1);
  for (int attempt = 0; attempt < 20 && all.size() <= kRandomParams; ++attempt) {
    Params params;
    for (const Tunable& tunable : tunables)
      params[tunable.name] = tunable.values[random() % tunable.values.size()];
    const bool valid = kernel.valid == nullptr || kernel.valid(problem, params, device).ok();
    if (valid && std::find(all.begin(), all.end(), params) == all.end()) all.push_back(params);
  }
  return all;
}

/// Runs `kernel` on `group` in every state with every parameter set to try. Returns how many runs.
int RunAll(const KernelDesc& kernel, const CaseGroup& group, const std::string& target,
           bool first_only) {
  const CpuDevice& device = TestDevice(3);
  const auto candidates = kernel.candidates(*group.graph, device);
  if (!candidates.ok()) {
    EXPECT_EQ(candidates.status().code(), StatusCode::kUnsupported)
        << kernel.name << ": " << candidates.status().message();
    return 0;
  }
  int runs = 0;
  for (const StateAssignment& states : *candidates) {
    KernelRun run{kernel, group, {group.graph, states, 3}, {}, target};
    for (const Params& params : ParamsToTry(kernel, run.problem, device)) {
      run.params = params;
      const testing::AssertionResult result = CheckRun(run);
      EXPECT_TRUE(result);
      ++runs;
      if (!result || first_only) break;  // one failure per state says enough
    }
  }
  return runs;
}

class CasesTest : public testing::TestWithParam<ops::Case> {
 protected:
  ~CasesTest() override { ForceSimdTarget(""); }
};

TEST_P(CasesTest, EveryKernelAgreesWithTheOracle) {
  const Result<EvaluatedCase> evaluated = EvaluateCase(GetParam());
  if (!evaluated.ok()) {
    ASSERT_EQ(evaluated.status().code(), StatusCode::kUnsupported) << evaluated.status().message();
    GTEST_SKIP() << evaluated.status().message();
  }
  const std::vector<CaseGroup> groups = GroupsOf(*evaluated);
  const std::vector<std::string_view> targets = SimdTargets();
  int runs = 0;
  for (std::string_view target : targets) {
    ForceSimdTarget(target);
    for (const KernelDesc* kernel : CpuKernels()) {
      // References have no vector code; large cases are for the widest vectors alone.
      if (target != targets[0] && (kernel->preference == 0 || GetParam().bench)) continue;
      for (const CaseGroup& group : groups)
        runs += RunAll(*kernel, group, std::string(target), GetParam().bench);
    }
  }
  EXPECT_GT(runs, 0) << "no kernel takes this case";
}

std::string CaseName(const testing::TestParamInfo<ops::Case>& info) {
  std::string name(info.param.name);
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, CasesTest, testing::ValuesIn(ops::AllCases()), CaseName);

}  // namespace
}  // namespace fettle::kernels
