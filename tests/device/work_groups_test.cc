#include "device/opencl/work_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace fettle {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr WorkGroupLimits kLimits256{256, {256, 256, 256}};

OpenClFacts Facts(const char* family, int64_t limit, int64_t cache_bytes) {
  OpenClFacts facts;
  facts.family = family;
  facts.max_work_group_size = limit;
  facts.max_work_item_sizes = {limit, limit, limit};
  facts.global_cache_bytes = cache_bytes;
  return facts;
}

TEST(CacheLws, TakesWholeRowsAndWhatTheCacheAllows) {
  EXPECT_EQ(CacheLws({16, 56, 56}, 256, 256 << 10), (WorkShape{1, 56, 4}));
  EXPECT_EQ(CacheLws({16, 4, 56}, 256, 64 << 10), (WorkShape{4, 4, 4}));
}

TEST(CacheLws, IsOneItemWithoutALimitOrWork) {
  const WorkShape one{1, 1, 1};
  EXPECT_EQ(CacheLws({16, 56, 56}, 0, 256 << 10), one);
  EXPECT_EQ(CacheLws({0, 56, 56}, 256, 256 << 10), one);
  EXPECT_EQ(CacheLws({16, 0, 56}, 256, 256 << 10), one);
  EXPECT_EQ(CacheLws({16, 56, 0}, 256, 256 << 10), one);
}

TEST(CacheLws, DoesNotOverflowOnHugeCachesAndGrids) {
  const size_t huge = size_t{1} << 40;
  EXPECT_EQ(CacheLws({huge, huge, huge}, 1024, int64_t{1} << 60), (WorkShape{1, 1024, 1}));
}

TEST(RowCandidates, KeepFiveOfThirtyFourOfThemDistinct) {
  const auto shapes = RowCandidates3d({16, 56, 56}, 256);
  EXPECT_THAT(shapes, SizeIs(5));
  EXPECT_THAT(Distinct(shapes), SizeIs(4));
  EXPECT_THAT(RowCandidates3d({16, 300, 56}, 256), IsEmpty());
}

TEST(FullCandidates, AreTenNineOfThemDistinct) {
  const auto shapes = FullCandidates2d(256);
  EXPECT_THAT(shapes, SizeIs(10));
  EXPECT_THAT(Distinct(shapes), SizeIs(9));
  EXPECT_THAT(shapes, Contains(WorkShape{32, 8, 1}));
  EXPECT_THAT(Distinct(FullCandidates2d(1)), ElementsAre(WorkShape{1, 1, 1}));
}

TEST(MnnCandidates, ArePowersOfTwoPerAxis) {
  EXPECT_THAT(MnnCandidates(MnnKernel::kConv1x1, {64, 98, 1}, kLimits256), SizeIs(43));
  EXPECT_THAT(MnnCandidates(MnnKernel::kDepthwise, {64, 98, 1}, kLimits256), SizeIs(39));
  EXPECT_THAT(MnnCandidates(MnnKernel::kConv1x1, {1, 1, 1}, kLimits256), SizeIs(9));
  EXPECT_THAT(MnnCandidates(MnnKernel::kDepthwise, {1, 1, 1}, kLimits256), SizeIs(1));
}

TEST(MnnCandidates, KeepTheItemLimitOfEachAxis) {
  const WorkGroupLimits narrow{256, {4, 256, 256}};
  for (const WorkShape& lws : MnnCandidates(MnnKernel::kConv1x1, {64, 98, 1}, narrow))
    EXPECT_LE(lws[0], 4u);
}

TEST(MnnLws, DividesTheGridOverTwiceTheUnits) {
  EXPECT_EQ(MnnLws({64, 98, 1}, 8, kLimits256), (WorkShape{4, 2, 1}));
  EXPECT_EQ(MnnLws({3, 5, 7}, 8, kLimits256), (WorkShape{1, 1, 1}));
  EXPECT_EQ(MnnLws({4096, 4096, 1}, 1, kLimits256), (WorkShape{256, 1, 1}));
}

TEST(ArmCandidates, AreThreeGrids) {
  const WorkGroupLimits wide{1 << 20, {64, 32, 32}};
  EXPECT_THAT(ArmCandidates(ArmGrid::kExhaustive, wide), SizeIs(64 * 32 * 32));
  EXPECT_THAT(ArmCandidates(ArmGrid::kNormal, wide), SizeIs(7 * 6 * 6));
  EXPECT_THAT(ArmCandidates(ArmGrid::kRapid, wide), SizeIs(12));
  for (const WorkShape& lws : ArmCandidates(ArmGrid::kExhaustive, kLimits256))
    ASSERT_LE(lws[0] * lws[1] * lws[2], 256u);
}

TEST(TuningCandidates, ArePowersOfTwoWhereRowsPassTheLimit) {
  const OpenClFacts facts = Facts("mali", 64, 256 << 10);
  const auto shapes = TuningCandidates(facts, {8, 200, 8}, 64);
  EXPECT_EQ(shapes.front(), DefaultLws(facts, {8, 200, 8}, 64));
  EXPECT_THAT(shapes, Contains(WorkShape{8, 8, 1}));
  EXPECT_THAT(shapes, Contains(WorkShape{1, 64, 1}));
}

TEST(TuningCandidates, AreDistinctAndWithinTheLimits) {
  for (const char* family : {"adreno", "cpu", "nvidia"}) {
    const OpenClFacts facts = Facts(family, 1024, 2 << 20);
    for (const WorkShape& gws : {WorkShape{16, 56, 56}, WorkShape{1000, 7, 1}, WorkShape{1, 1, 1},
                                 WorkShape{3, 2000, 5}}) {
      const auto shapes = TuningCandidates(facts, gws, 256);
      EXPECT_EQ(shapes, Distinct(shapes));
      EXPECT_TRUE(std::all_of(shapes.begin(), shapes.end(), [](const WorkShape& lws) {
        return Fits(lws, kLimits256);
      })) << family;
    }
  }
}

TEST(DefaultLws, FollowsTheFamily) {
  EXPECT_EQ(DefaultLws(Facts("adreno", 256, 256 << 10), {16, 56, 56}, 256), (WorkShape{1, 56, 4}));
  EXPECT_EQ(DefaultLws(Facts("nvidia", 1024, 256 << 10), {1024, 1024, 1}, 1024),
            (WorkShape{64, 4, 1}));
}

TEST(DefaultLws, LeavesFewItemsIdle) {
  // 98 = 6 x 16 + 2: 64 or 32 would idle 30 of 128, 16 idles 14 of 112, 8 idles 6 of 104.
  EXPECT_EQ(DefaultLws(Facts("amd", 256, 0), {98, 1, 1}, 256), (WorkShape{8, 1, 1}));
  EXPECT_EQ(DefaultLws(Facts("amd", 256, 0), {100, 40, 1}, 256), (WorkShape{16, 8, 1}));
}

TEST(DefaultLws, IsValidWhateverTheKernelSays) {
  const OpenClFacts facts = Facts("adreno", 256, 256 << 10);
  EXPECT_EQ(DefaultLws(facts, {16, 56, 56}, 0), (WorkShape{1, 1, 1}));
  EXPECT_EQ(DefaultLws(facts, {16, 0, 56}, 256), (WorkShape{1, 1, 1}));
}

}  // namespace
}  // namespace fettle
