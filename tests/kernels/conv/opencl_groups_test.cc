// Usual work-groups on devices whose limits are small, or lies.
#include "device/opencl/paper_device.h"
#include "kernels/opencl/conv/pixel_conv.h"
#include "tests/kernels/opencl/one_kernel.h"

namespace fettle::kernels {

extern const KernelDesc kOpenClConvDirect;
extern const KernelDesc kOpenClConvPointwise;

namespace {

TEST(GroupWithin, KeepsAllLimits) {
  for (const int64_t items : {int64_t{1}, int64_t{3}, int64_t{48}, int64_t{1} << 20})
    for (const int64_t side : {int64_t{1}, int64_t{20}, int64_t{1} << 50}) {
      OpenClFacts facts;
      facts.max_work_group_size = items;
      facts.max_work_item_sizes = {side, side, side};
      const auto group = GroupWithin(facts, {64, 4, 1});
      EXPECT_LE(static_cast<int64_t>(group[0] * group[1] * group[2]), items);
      EXPECT_LE(static_cast<int64_t>(group[0]), side);
      EXPECT_GE(group[0] * group[1] * group[2], 1u);
      if (items >= 256 && side >= 64) {
        EXPECT_EQ(group, (std::array<size_t, 3>{64, 4, 1}));
      }
    }
}

TEST(UsualParameters, AreTakenByDevicesOfOneItem) {
  const CaseGroup group = ParseGroup(
      "input %x: f32[1x8x16x16]\nconst %w: f32[16x8x1x1]\n%y = Conv(%x, %w)\noutput %y\n");
  for (const bool per_axis : {false, true}) {
    OpenClFacts facts;
    facts.family = "other";
    facts.max_work_group_size = per_axis ? 4096 : 1;
    facts.max_work_item_sizes =
        per_axis ? std::array<int64_t, 3>{1, 1, 1} : std::array<int64_t, 3>{4096, 4096, 4096};
    facts.max_allocation_bytes = facts.global_bytes = int64_t{1} << 30;
    const auto device = OpenPaperDevice(facts).value();
    for (const KernelDesc* kernel : {&kOpenClConvDirect, &kOpenClConvPointwise}) {
      const auto candidates = CandidatesOf(*kernel, *group.graph, *device);
      ASSERT_TRUE(candidates.ok()) << candidates.status().message();
      const Problem problem{group.graph, candidates->front(), 1};
      const ParamSpace space = SpaceOf(*kernel, problem, *device);
      ASSERT_TRUE(space.check);
      EXPECT_TRUE(space.check(space.usual).ok()) << space.check(space.usual).message();
    }
  }
}

}  // namespace
}  // namespace fettle::kernels
