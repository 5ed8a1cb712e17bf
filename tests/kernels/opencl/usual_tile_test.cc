// What convolutions by matrix instructions, and products of one row, take before anything is
// measured, on a device that is made up: the sizes of a large GPU.
#include "kernels/opencl/conv/usual_tile.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kernels/opencl/block_product/rows_tile.h"
#include "kernels/opencl/gemm/algorithm.h"
#include "tests/kernels/opencl/mma_device.h"

namespace fettle::kernels {

extern const KernelDesc kOpenClConvMmaF32;

namespace {

OpenClFacts LargeGpu() {
  OpenClFacts facts;
  facts.compute_units = 132;
  facts.max_work_group_size = 1024;
  facts.mma = {.available = true, .local_bytes = (227 << 10) - 64};
  return facts;
}

TEST(UsualConvTile, FitsTheDeviceWhateverTheLayer) {
  const OpenClFacts facts = LargeGpu();
  for (const int64_t pixels : {1, 49, 196, 784, 3136, 50176}) {
    for (const int64_t channels : {16, 64, 70, 256, 2048}) {
      for (const int64_t k : {16, 64, 144, 576, 4608}) {
        for (const int64_t batch : {1, 8, 64}) {
          const WarpProduct product{.m = pixels, .n = channels, .k = k, .batch = batch};
          for (const bool reads_sum : {false, true}) {
            const WarpTile tile = UsualConvTile(product, reads_sum, facts);
            EXPECT_TRUE(CheckWarpTile(product, tile, facts).ok())
                << pixels << " pixels, " << channels << " channels, " << k << " deep, " << batch;
          }
        }
      }
    }
  }
}

TEST(UsualConvTile, FewTilesAreThoseOfProducts) {
  const OpenClFacts facts = LargeGpu();
  const WarpProduct product{.m = 49, .n = 512, .k = 4608};
  EXPECT_EQ(kWarpTileFields.Write(UsualConvTile(product, true, facts)),
            kWarpTileFields.Write(UsualWarpTile(product, facts)));
}

TEST(UsualConvTile, WarpsAreSmallWhereManyTilesWaitForWhatIsAdded) {
  const OpenClFacts facts = LargeGpu();
  const WarpProduct product{.m = 3136, .n = 256, .k = 64, .batch = 32};
  const WarpTile tile = UsualConvTile(product, true, facts);
  EXPECT_EQ(tile.wm * tile.wn, 32 * 32);
  EXPECT_EQ(tile.stages, 2);
  EXPECT_GT(UsualWarpTile(product, facts).wm * UsualWarpTile(product, facts).wn, 32 * 32);
}

/// What products [m, n] over k of f16 take.
WarpTile TileOfHalves(int64_t m, int64_t n, int64_t k, const OpenClFacts& facts) {
  GemmShape shape;
  shape.m = m;
  shape.n = n;
  shape.k = k;
  shape.storage = DType::kF16;
  const Params usual = kGemmMma.defaults(shape, facts);
  EXPECT_TRUE(kGemmMma.valid(shape, usual, facts).ok()) << m << " " << n << " " << k;
  return kWarpTileFields.Read(usual);
}

TEST(UsualProductTile, LongSumsOfFewTilesAreSliced) {
  OpenClFacts facts = LargeGpu();
  facts.mma.warpgroups = true;
  for (const int64_t m : {1, 49, 64, 197, 384, 577, 1024, 4096})
    for (const int64_t n : {32, 768, 1024, 4096})
      for (const int64_t k : {64, 768, 2048, 3072, 8192}) TileOfHalves(m, n, k, facts);
  const WarpTile sliced = TileOfHalves(197, 768, 3072, facts);
  EXPECT_EQ(sliced.warpgroups, 1);
  EXPECT_EQ(sliced.split, 4);
  EXPECT_EQ(TileOfHalves(577, 768, 3072, facts).split, 2);
  EXPECT_EQ(TileOfHalves(577, 1024, 4096, facts).split, 1);  // tiles enough
  EXPECT_EQ(TileOfHalves(577, 768, 768, facts).split, 1);
  facts.mma.warpgroups = false;
  EXPECT_EQ(TileOfHalves(197, 768, 3072, facts).warpgroups, 0);
}

/// A row of `k` times [n, k] of 4 bits.
RowsTile TileOfOneRow(int64_t n, int64_t k, const OpenClFacts& of) {
  BlockFacts facts;
  facts.p.rows = 1;
  facts.p.n = n;
  facts.p.k = k;
  facts.p.block = 32;
  return UsualRowsTile(facts, n, of);
}

TEST(UsualRowsTile, AWarpHoldsEightUnitsOfWeights) {
  OpenClFacts facts = LargeGpu();
  facts.local_bytes = 48 << 10;
  facts.max_work_item_sizes = {1024, 1024, 64};
  const RowsTile wide = TileOfOneRow(16384, 2048, facts), deep = TileOfOneRow(2048, 8192, facts);
  EXPECT_EQ(wide.items, 256);
  EXPECT_EQ(wide.columns * DivideUp(2048 / 32, wide.lanes), 8);
  EXPECT_EQ(deep.items, 256);
  EXPECT_EQ(deep.columns, 1);
  // Few columns are shared by as many groups as there are compute units.
  EXPECT_GE(DivideUp(512, TileOfOneRow(512, 2048, facts).group_columns()), facts.compute_units / 2);
  facts.mma.emulated = true;  // no PTX
  EXPECT_EQ(TileOfOneRow(16384, 2048, facts).items, 128);
}

/// Long sums of few outputs: an item each would add up thousands of products alone.
TEST_F(OpenClMma, PlansTakeTilesForFewPixelsOfLongSums) {
  const auto taste_of = [&](int ic, int extent, int kernel) {
    ir::Graph parsed = ops::Parse(fmt::format("input %x: f32[1x{0}x{1}x{1}]\nconst %w: "
                                              "f32[16x{0}x{2}x{2}]\n%y = Conv(%x, %w) "
                                              "{{pads=[{3},{3},{3},{3}]}}\noutput %y\n",
                                              ic, extent, kernel, kernel / 2))
                           .value();
    EXPECT_TRUE(ops::InferGraph(parsed).ok());
    const auto match = MatchGroup(kOpenClConvMmaF32,
                                  std::make_shared<const ir::Graph>(std::move(parsed)), *device_);
    return match.ok() ? (*match)->taste() : -1;
  };
  const int usual = taste_of(32, 14, 3);
  EXPECT_EQ(taste_of(288, 2, 3), usual);
  EXPECT_EQ(taste_of(224, 3, 3), usual);
  EXPECT_EQ(taste_of(128, 1, 1), usual);
  EXPECT_LT(taste_of(4, 3, 3), usual);
  EXPECT_LT(taste_of(4, 1, 1), usual);
}

}  // namespace
}  // namespace fettle::kernels
