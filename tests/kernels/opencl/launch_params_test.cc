// How programs are built and launched, as parameters: every way computes what the oracle computes.
#include "kernels/opencl/launch_params.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "kernels/launch_tunables.h"
#include "kernels/opencl/opencl_backend.h"
#include "tests/kernels/kernel_check.h"
#include "tests/opencl_device.h"

namespace fettle::kernels {
namespace {

OpenClFacts FactsOf(const char* family) {
  OpenClFacts facts;
  facts.family = family;
  facts.compute_units = 8;
  facts.max_work_group_size = 256;
  facts.max_work_item_sizes = {256, 256, 64};
  facts.global_cache_bytes = 256 << 10;
  return facts;
}

TEST(ProposeGroups, EveryRuleIsHeardAndEachSizeOnce) {
  std::set<std::string_view> rules;
  const OpenClFacts facts = FactsOf("adreno");
  for (const WorkShape& gws :
       {WorkShape{16, 56, 56}, WorkShape{3136, 32, 1}, WorkShape{49, 7, 2}, WorkShape{1, 1, 1}}) {
    std::set<WorkShape> sizes;
    for (const GroupProposal& proposal : ProposeGroups(facts, gws, 128)) {
      rules.insert(proposal.rule);
      EXPECT_TRUE(sizes.insert(proposal.lws).second) << proposal.rule;
      EXPECT_TRUE(Fits(proposal.lws, LimitsOf(facts, 128))) << proposal.rule;
    }
    EXPECT_FALSE(sizes.empty());
  }
  for (std::string_view rule : {"rows", "mace-cache", "mace-2d", "mace-3d", "mnn-cores", "mnn-1x1",
                                "mnn-depthwise", "arm-rapid", "arm-normal"})
    EXPECT_TRUE(rules.contains(rule)) << rule;
}

TEST(VariantOf, ChangesTextAndOptionsAsAsked) {
  const ProgramSource source{"p",
                             "#pragma unroll\nfor (;;) {}\n#pragma unroll 2\n"
                             "#define EACH _Pragma(\"unroll\") for\n",
                             "-DA=1"};
  EXPECT_EQ(VariantOf(source, {}), source);
  EXPECT_EQ(VariantOf(source, {{"fast_math", 0}, {"loops", 0}, {"multiply_add", 0}}), source);
  EXPECT_EQ(VariantOf(source, {{"fast_math", 1}}).options, "-DA=1 -cl-fast-relaxed-math");
  EXPECT_EQ(VariantOf(source, {{"loops", 1}}).text,
            "#pragma unroll 1\nfor (;;) {}\n#pragma unroll 2\n"
            "#define EACH _Pragma(\"unroll 1\") for\n");
  EXPECT_TRUE(VariantOf(source, {{"multiply_add", 2}})
                  .text.starts_with("#define FETTLE_MULTIPLY_ADD 2\n#pragma unroll\n"));
}

/// All launch tunables of every kernel that takes `text`, each of their values alone, and the
/// groups of all rules.
void CheckLaunches(std::string_view text, size_t least_variants) {
  const auto& device = TestOpenClDevice();
  if (!device.ok()) GTEST_SKIP() << "no OpenCL device: " << device.status().message();
  const CaseGroup group = ParseGroup(text);
  size_t variants = 0;
  for (const KernelDesc* kernel : OpenClKernels()) {
    const auto candidates = CandidatesOf(*kernel, *group.graph, **device);
    if (!candidates.ok()) continue;
    KernelRun run{*kernel, group, {group.graph, candidates->front(), 1}, {}, ""};
    const ParamSpace space = SpaceOf(*kernel, run.problem, **device);
    const auto prepared = PrepareKernel(*kernel, run.problem, space.usual, **device);
    ASSERT_TRUE(prepared.ok()) << prepared.status().message();
    const TunableLaunches* const launches = LaunchesOf(**prepared);
    if (launches == nullptr) continue;
    std::vector<Params> all;
    for (const Tunable& tunable : launches->launch_tunables()) {
      if (tunable.name.starts_with("group_")) continue;
      for (int64_t value : tunable.values)
        if (value != 0) all.push_back({{tunable.name, value}});
    }
    const std::vector<RuleParams> rules = launches->launch_rules();
    for (size_t i = 0; i < rules.size(); i += 5) all.push_back(rules[i].params);
    for (const Params& params : all) {
      run.params = space.usual;
      for (const auto& [name, value] : params) run.params[name] = value;
      if (space.check && !space.check(run.params).ok()) continue;
      EXPECT_TRUE(CheckRun(run, **device));
      ++variants;
    }
  }
  EXPECT_GE(variants, least_variants);
}

TEST(LaunchParams, OfConvolutionsComputeTheSame) {
  CheckLaunches(
      "input %x: f32[1x9x6x7]\nconst %w: f32[10x9x3x3]\n%y = Conv(%x, %w, _) {pads=[1,1,1,1]}\n"
      "output %y\n",
      8);
}

TEST(LaunchParams, OfElementwiseChainsComputeTheSame) {
  CheckLaunches("input %x: f32[1x9x6x7]\n%y = MaxPool(%x) {kernel_shape=[2,2]}\noutput %y\n", 2);
}

TEST(LaunchParams, GroupsCutTheThirdAxisEvenly) {
  const auto& device = TestOpenClDevice();
  if (!device.ok()) GTEST_SKIP() << "no OpenCL device: " << device.status().message();
  const CaseGroup group = ParseGroup(
      "input %x: f32[3x17x6x7]\nconst %w: f32[18x17x3x3]\n%y = Conv(%x, %w, _) {pads=[1,1,1,1]}\n"
      "output %y\n");
  std::set<std::string_view> checked;
  for (const KernelDesc* kernel : OpenClKernels()) {
    const auto candidates = CandidatesOf(*kernel, *group.graph, **device);
    if (!candidates.ok()) continue;
    KernelRun run{*kernel, group, {group.graph, candidates->front(), 1}, {}, ""};
    const ParamSpace space = SpaceOf(*kernel, run.problem, **device);
    const auto prepared = PrepareKernel(*kernel, run.problem, space.usual, **device);
    ASSERT_TRUE(prepared.ok()) << prepared.status().message();
    const TunableLaunches* const launches = LaunchesOf(**prepared);
    if (launches == nullptr) continue;
    for (const Tunable& tunable : launches->launch_tunables()) {
      if (tunable.name != "group_z") continue;
      for (int64_t items : tunable.values)
        EXPECT_TRUE(
            launches->CheckLaunch({{"group_x", 1}, {"group_y", 1}, {"group_z", items}}).ok())
            << kernel->name << " " << items;
      // Neither 3 images nor the 36 or 16 places of a patch are a multiple.
      const Params uneven{{"group_x", 1}, {"group_y", 1}, {"group_z", 5}};
      EXPECT_EQ(launches->CheckLaunch(uneven).code(), StatusCode::kUnsupported) << kernel->name;
      run.params = space.usual;
      for (const auto& [name, value] : uneven) run.params[name] = value;
      EXPECT_TRUE(CheckRun(run, **device)) << "a plan from elsewhere";
      checked.insert(kernel->name);
    }
  }
  EXPECT_TRUE(checked.contains("opencl.conv.winograd")) << checked.size();
}

TEST(LaunchParams, GroupsThatDoNotFitAreRefusedOrBecomeSmaller) {
  const auto& device = TestOpenClDevice();
  if (!device.ok()) GTEST_SKIP() << "no OpenCL device: " << device.status().message();
  const CaseGroup group =
      ParseGroup("input %x: f32[1x8x6x7]\n%y = MaxPool(%x) {kernel_shape=[2,2]}\noutput %y\n");
  int runs = 0;
  for (const KernelDesc* kernel : OpenClKernels()) {
    const auto candidates = CandidatesOf(*kernel, *group.graph, **device);
    if (!candidates.ok()) continue;
    KernelRun run{*kernel, group, {group.graph, candidates->front(), 1}, {}, ""};
    run.params = {{"group_x", int64_t{1} << 40}, {"group_y", 1 << 20}};
    const auto prepared = PrepareKernel(*kernel, run.problem, {}, **device);
    ASSERT_TRUE(prepared.ok()) << prepared.status().message();
    const TunableLaunches* const launches = LaunchesOf(**prepared);
    if (launches == nullptr) continue;
    EXPECT_EQ(launches->CheckLaunch(run.params).code(), StatusCode::kUnsupported);
    EXPECT_TRUE(CheckRun(run, **device)) << "a plan from elsewhere";
    ++runs;
  }
  EXPECT_GT(runs, 0);
}

}  // namespace
}  // namespace fettle::kernels
