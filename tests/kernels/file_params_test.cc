// Parameters come from packages and databases: whatever they say, a kernel refuses them or is
// right.
#include <gtest/gtest.h>

#include <map>

#include "ops/cases.h"
#include "tests/kernels/kernel_check.h"

namespace fettle::kernels {
namespace {

/// Groups of a kernel that are tried; more find nothing that these do not.
constexpr int kGroupsOfAKernel = 2;

/// What no memory plan takes needs no run.
constexpr int64_t kMostWorkspace = int64_t{1} << 30;

/// Runs `run` where the kernel takes its parameters. False where it does not.
bool RunOrRefuse(const KernelRun& run, const Device& device) {
  const auto prepared = PrepareKernel(run.kernel, run.problem, run.params, device);
  if (!prepared.ok()) return false;
  const int64_t workspace = (*prepared)->workspace_bytes();
  EXPECT_GE(workspace, 0) << run.kernel.name;
  if (workspace < 0 || workspace > kMostWorkspace) return false;
  EXPECT_TRUE(CheckRun(run, device));
  return true;
}

/// Runs the kernel in its first states with each parameter as no list has it. Returns how many runs
/// took place.
int TryParams(const KernelDesc& kernel, const CaseGroup& group) {
  const CpuDevice& device = TestDevice(3);
  const auto match = MatchGroup(kernel, group.graph, device);
  if (!match.ok()) return 0;
  int runs = 0;
  const ParamSpace space = (*match)->params(0, 3);
  for (const Tunable& tunable : space.tunables) {
    for (int64_t value : {int64_t{-7}, int64_t{0}, int64_t{7}, int64_t{1000}, int64_t{1} << 40}) {
      KernelRun run{kernel, group, {group.graph, (*match)->states()[0], 3}, space.usual, ""};
      run.params[tunable.name] = value;
      if (space.check && !space.check(run.params).ok()) continue;  // as plans ask before
      runs += RunOrRefuse(run, device);
    }
  }
  return runs;
}

TEST(FileParams, AnyValueIsRefusedOrRight) {
  std::map<const KernelDesc*, int> groups_of;
  int runs = 0;
  for (const ops::Case& test : ops::AllCases()) {
    if (test.bench) continue;
    const Result<EvaluatedCase> evaluated = EvaluateCase(test);
    if (!evaluated.ok()) continue;
    for (const CaseGroup& group : GroupsOf(*evaluated)) {
      for (const KernelDesc* kernel : CpuKernels()) {
        if (groups_of[kernel] == kGroupsOfAKernel) continue;
        const int done = TryParams(*kernel, group);
        groups_of[kernel] += done > 0;
        runs += done;
      }
    }
  }
  EXPECT_GT(runs, 100);
}

TEST(FileParams, TasksOfAnyNumberOfRowsStayWithinTheirTiles) {
  constexpr std::string_view kProducts[] = {
      "input %a: f32[3000x8]\nconst %b: f32[8x20]\n%y = MatMul(%a, %b)\noutput %y\n",
      "input %x: f32[1x16x80x80]\nconst %w: f32[16x16x1x1]\n%y = Conv(%x, %w)\noutput %y\n",
  };
  for (std::string_view text : kProducts) {
    const Result<EvaluatedCase> evaluated = EvaluateCase({.graph = text});
    ASSERT_TRUE(evaluated.ok()) << evaluated.status().message();
    int runs = 0;
    for (const CaseGroup& group : GroupsOf(*evaluated))
      for (const KernelDesc* kernel : CpuKernels()) runs += TryParams(*kernel, group);
    EXPECT_GT(runs, 0) << text;
  }
}

}  // namespace
}  // namespace fettle::kernels
