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

TEST(ProposeGroups, EveryRuleIsHeardAndEachSizeOnceForIt) {
  std::set<std::string_view> rules;
  const OpenClFacts facts = FactsOf("adreno");
  for (const WorkShape& gws :
       {WorkShape{16, 56, 56}, WorkShape{3136, 32, 1}, WorkShape{49, 7, 2}, WorkShape{1, 1, 1}}) {
    std::set<std::pair<std::string_view, WorkShape>> sizes;
    for (const GroupProposal& proposal : ProposeGroups(facts, gws, 128)) {
      rules.insert(proposal.rule);
      EXPECT_TRUE(sizes.insert({proposal.rule, proposal.lws}).second) << proposal.rule;
      EXPECT_TRUE(Fits(proposal.lws, LimitsOf(facts, 128))) << proposal.rule;
    }
    EXPECT_FALSE(sizes.empty());
  }
  for (std::string_view rule : {"units", "rows", "mace-cache", "mace-2d", "mace-3d", "mnn-cores",
                                "mnn-1x1", "mnn-depthwise", "arm-rapid", "arm-normal"})
    EXPECT_TRUE(rules.contains(rule)) << rule;
}

TEST(ProposeGroups, ListsAreWhole) {
  const OpenClFacts facts = FactsOf("mali");
  const WorkShape gws{16, 8, 32};
  const WorkGroupLimits limits = LimitsOf(facts, 128);
  std::set<std::pair<std::string_view, WorkShape>> proposed;
  for (const GroupProposal& one : ProposeGroups(facts, gws, 128))
    proposed.insert({one.rule, one.lws});
  const auto check = [&](std::string_view rule, const std::vector<WorkShape>& list) {
    EXPECT_FALSE(list.empty());
    for (const WorkShape& lws : list)
      EXPECT_TRUE(!Fits(lws, limits) || proposed.contains({rule, lws})) << rule;
  };
  check("mace-3d", RowCandidates3d(gws, 128));
  check("mace-2d", FullCandidates2d(128));
  check("mnn-1x1", MnnCandidates(MnnKernel::kConv1x1, gws, limits));
  check("mnn-depthwise", MnnCandidates(MnnKernel::kDepthwise, gws, limits));
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

/// A kernel whose launches may be varied, with its usual parameters.
struct Tunables {
  KernelRun run;
  ParamSpace space;
  const TunableLaunches& launches;
};

/// Hands all that take `group` to `use`; returns how many there were.
template <typename Use>
int ForEachTunable(const CaseGroup& group, const Device& device, const Use& use) {
  int kernels = 0;
  for (const KernelDesc* kernel : OpenClKernels()) {
    const auto candidates = CandidatesOf(*kernel, *group.graph, device);
    if (!candidates.ok()) continue;
    KernelRun run{*kernel, group, {group.graph, candidates->front(), 1}, {}, ""};
    const ParamSpace space = SpaceOf(*kernel, run.problem, device);
    const auto prepared = PrepareKernel(*kernel, run.problem, space.usual, device);
    EXPECT_TRUE(prepared.ok()) << prepared.status().message();
    const TunableLaunches* const launches = prepared.ok() ? LaunchesOf(**prepared) : nullptr;
    if (launches == nullptr) continue;
    run.params = space.usual;
    use(Tunables{std::move(run), space, *launches});
    ++kernels;
  }
  return kernels;
}

Params With(Params params, const Params& more) {
  for (const auto& [name, value] : more) params[name] = value;
  return params;
}

/// All launch tunables of every kernel that takes `text`, each of their values alone, and the
/// groups of all rules.
void CheckLaunches(std::string_view text, size_t least_variants) {
  const auto& device = TestOpenClDevice();
  if (!device.ok()) GTEST_SKIP() << "no OpenCL device: " << device.status().message();
  size_t variants = 0;
  ForEachTunable(ParseGroup(text), **device, [&](Tunables of) {
    std::vector<Params> all;
    for (const Tunable& tunable : of.launches.launch_tunables()) {
      if (tunable.name.starts_with("group_")) continue;
      for (int64_t value : tunable.values)
        if (value != 0) all.push_back({{tunable.name, value}});
    }
    const std::vector<RuleParams> rules = of.launches.launch_rules();
    for (size_t i = 0; i < rules.size(); i += 31) all.push_back(rules[i].params);
    for (const Params& params : all) {
      of.run.params = With(of.space.usual, params);
      if (of.space.check && !of.space.check(of.run.params).ok()) continue;
      EXPECT_TRUE(CheckRun(of.run, **device));
      ++variants;
    }
  });
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
  const auto along = [](int64_t items) {
    return Params{{"group_x", 1}, {"group_y", 1}, {"group_z", items}};
  };
  std::set<std::string_view> checked;
  ForEachTunable(group, **device, [&](Tunables of) {
    for (const Tunable& tunable : of.launches.launch_tunables()) {
      if (tunable.name != "group_z") continue;
      for (int64_t items : tunable.values)
        EXPECT_TRUE(of.launches.CheckLaunch(along(items)).ok()) << of.run.kernel.name << items;
      // Neither 3 images nor the 36 or 16 places of a patch are a multiple of 5.
      EXPECT_EQ(of.launches.CheckLaunch(along(5)).code(), StatusCode::kUnsupported);
      of.run.params = With(of.space.usual, along(5));
      EXPECT_TRUE(CheckRun(of.run, **device)) << "a plan from elsewhere";
      checked.insert(of.run.kernel.name);
    }
  });
  EXPECT_TRUE(checked.contains("opencl.conv.winograd")) << checked.size();
}

TEST(LaunchParams, GroupsThatDoNotFitAreRefusedOrBecomeSmaller) {
  const auto& device = TestOpenClDevice();
  if (!device.ok()) GTEST_SKIP() << "no OpenCL device: " << device.status().message();
  const CaseGroup group =
      ParseGroup("input %x: f32[1x8x6x7]\n%y = MaxPool(%x) {kernel_shape=[2,2]}\noutput %y\n");
  const int runs = ForEachTunable(group, **device, [&](Tunables of) {
    of.run.params = {{"group_x", int64_t{1} << 40}, {"group_y", 1 << 20}};
    EXPECT_EQ(of.launches.CheckLaunch(of.run.params).code(), StatusCode::kUnsupported);
    EXPECT_TRUE(CheckRun(of.run, **device)) << "a plan from elsewhere";
  });
  EXPECT_GT(runs, 0);
}

}  // namespace
}  // namespace fettle::kernels
