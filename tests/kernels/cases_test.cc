// Every case x kernel x states x parameters x SIMD target x threads against the oracle.
#include "ops/cases.h"

#include <gtest/gtest.h>

#include "kernels/cpu/simd/targets.h"
#include "tests/case_printer.h"
#include "tests/kernels/kernel_check.h"
#include "tests/slowed.h"

namespace fettle::kernels {
namespace {

/// Runs `kernel` on `group` in every state with every parameter set to try. Returns how many runs.
int RunAll(const KernelDesc& kernel, const CaseGroup& group, const std::string& target,
           bool first_only) {
  const CpuDevice& device = TestDevice(3);
  const auto candidates = CandidatesOf(kernel, *group.graph, device);
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
      const testing::AssertionResult result = CheckRun(run, device);
      EXPECT_TRUE(result);
      ++runs;
      if (!result || first_only) break;  // one failure per state says enough
    }
  }
  return runs;
}

/// References have no vector code; large cases are for the widest vectors alone. Where tests are
/// slowed, the oracle of a large case has run for its results, and its kernel would be the same.
bool IsLeftOut(const KernelDesc& kernel, bool is_large, bool is_widest) {
  const bool is_reference = kernel.is_reference();
  return (!is_widest && (is_reference || is_large)) ||
         (is_reference && is_large && CasesStride() > 1);
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
      if (IsLeftOut(*kernel, GetParam().bench, target == targets[0])) continue;
      for (const CaseGroup& group : groups)
        runs += RunAll(*kernel, group, std::string(target), GetParam().bench);
    }
  }
  if (runs == 0 && GetParam().bench && CasesStride() > 1)
    GTEST_SKIP() << "of a large case the oracle alone";
  EXPECT_GT(runs, 0) << "no kernel takes this case";
}

INSTANTIATE_TEST_SUITE_P(All, CasesTest, testing::ValuesIn(ops::AllCases()), ops::CaseTestName);

}  // namespace
}  // namespace fettle::kernels
