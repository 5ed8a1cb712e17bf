#include "device/opencl/work_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fettle {
namespace {

using testing::Contains;
using testing::Each;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

constexpr WorkGroupLimits kLimits256{256, {256, 256, 256}};

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

TEST(RowCandidates, KeepFiveOfThirty) {
  const auto shapes = RowCandidates3d({16, 56, 56}, 256);
  EXPECT_THAT(shapes, SizeIs(5));
  EXPECT_THAT(RowCandidates3d({16, 300, 56}, 256), IsEmpty());
}

TEST(FullCandidates, AreTen) {
  const auto shapes = FullCandidates2d(256);
  EXPECT_THAT(shapes, SizeIs(10));
  EXPECT_THAT(shapes, Contains(WorkShape{32, 8, 1}));
  EXPECT_THAT(FullCandidates2d(1), Each(WorkShape{1, 1, 1}));
}

/// As the sources of both list them for these extents and limits, duplicates included.
TEST(PublishedLists, AreOfferedWhole) {
  using S = WorkShape;
  EXPECT_THAT(RowCandidates3d({8, 16, 32}, 256),
              UnorderedElementsAre(S{8, 16, 1}, S{2, 16, 4}, S{2, 16, 8}, S{2, 16, 8}, S{2, 16, 4},
                                   S{2, 16, 1}, S{1, 16, 4}, S{1, 16, 8}, S{1, 16, 8}, S{1, 16, 4},
                                   S{1, 16, 1}, S{4, 16, 4}, S{4, 16, 4}, S{4, 16, 1}, S{1, 16, 4},
                                   S{1, 16, 8}, S{1, 16, 8}, S{1, 16, 4}, S{1, 16, 1}));
  EXPECT_THAT(RowCandidates3d({8, 2, 8}, int64_t{1} << 20), SizeIs(30));
  EXPECT_THAT(
      FullCandidates2d(256),
      UnorderedElementsAre(S{128, 2, 1}, S{64, 4, 1}, S{32, 8, 1}, S{16, 16, 1}, S{8, 32, 1},
                           S{4, 64, 1}, S{2, 128, 1}, S{1, 256, 1}, S{256, 1, 1}, S{1, 256, 1}));
  const WorkGroupLimits eight{8, {8, 8, 8}};
  EXPECT_THAT(MnnCandidates(MnnKernel::kConv1x1, {3, 2, 1}, eight),
              UnorderedElementsAre(S{1, 1, 1}, S{2, 1, 1}, S{4, 1, 1}, S{1, 2, 1}, S{2, 2, 1},
                                   S{4, 2, 1}, S{1, 4, 1}, S{2, 4, 1}));
  EXPECT_THAT(MnnCandidates(MnnKernel::kDepthwise, {3, 2, 1}, eight),
              UnorderedElementsAre(S{1, 1, 1}, S{2, 1, 1}, S{1, 2, 1}, S{2, 2, 1}));
}

TEST(UnitLws, LeavesFewItemsAndNoUnitIdle) {
  const auto of = [](const WorkShape& gws, int units) { return UnitLws(gws, units, kLimits256); };
  EXPECT_EQ(of({3136, 32, 1}, 8), (WorkShape{64, 4, 1}));
  EXPECT_EQ(of({49, 128, 1}, 132), (WorkShape{8, 4, 1}));
  EXPECT_EQ(of({100000, 1, 1}, 8), (WorkShape{256, 1, 1}));
  EXPECT_EQ(of({64, 4, 8}, 8), (WorkShape{64, 1, 1})) << "the third axis stays uncut";
  EXPECT_EQ(of({0, 4, 1}, 8), (WorkShape{1, 1, 1}));
}

TEST(UnitLws, TakesTheLimitsOfLiars) {
  const size_t huge = size_t{1} << 62;
  for (const int64_t limit : {int64_t{0}, int64_t{-1}, int64_t{1}}) {
    const WorkGroupLimits none{limit, {limit, limit, limit}};
    EXPECT_EQ(UnitLws({huge, huge, huge}, 1 << 20, none), (WorkShape{1, 1, 1}));
  }
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

TEST(ArmCandidates, AreTwoGrids) {
  const WorkGroupLimits wide{1 << 20, {64, 32, 32}};
  EXPECT_THAT(ArmCandidates(ArmGrid::kNormal, wide), SizeIs(7 * 6 * 6));
  EXPECT_THAT(ArmCandidates(ArmGrid::kRapid, wide), SizeIs(12));
  for (const WorkShape& lws : ArmCandidates(ArmGrid::kNormal, kLimits256))
    ASSERT_LE(lws[0] * lws[1] * lws[2], 256u);
}

TEST(RowLws, LeavesFewItemsIdle) {
  const auto of = [](const WorkShape& gws) { return RowLws(gws, 256, kLimits256); };
  EXPECT_EQ(of({1024, 1024, 1}), (WorkShape{64, 4, 1}));
  // 98 = 6 x 16 + 2: 64 or 32 would idle 30 of 128, 16 idles 14 of 112, 8 idles 6 of 104.
  EXPECT_EQ(of({98, 1, 1}), (WorkShape{8, 1, 1}));
  EXPECT_EQ(of({100, 40, 1}), (WorkShape{16, 8, 1}));
  EXPECT_EQ(of({16, 0, 56}), (WorkShape{1, 1, 1}));
}

TEST(LimitsOf, AreTheSmallerOfDeviceAndKernel) {
  OpenClFacts facts;
  facts.max_work_group_size = 1024;
  EXPECT_EQ(LimitsOf(facts, 256).items, 256);
  EXPECT_EQ(LimitsOf(facts, 4096).items, 1024);
  EXPECT_EQ(LimitsOf(facts, 0).items, 1);
}

}  // namespace
}  // namespace fettle
