#include "tensor/layout.h"

#include <gtest/gtest.h>

#include <set>

#include "tensor/reorder.h"
#include "tensor/state.h"
#include "tensor/tensor.h"

namespace fettle {
namespace {

std::vector<Layout> LayoutsOfRank4() {
  std::vector<Layout> layouts = {Layout::RowMajor()};
  for (const NamedLayout& row : LayoutTable()) {
    if (row.rank == 4) layouts.push_back(row.layout);
  }
  // One that no table names: blocks on two axes, and a pitch.
  layouts.push_back({.order = {2, 0, 3, 1}, .blocks = {{1, 4}, {3, 2}}});
  layouts.push_back({.order = {0, 2, 3, 1}, .pitch = 16});
  return layouts;
}

TEST(LayoutTest, EveryTableRowIsValidAndItsNameParsesBack) {
  std::set<std::string> names;
  for (const NamedLayout& row : LayoutTable()) {
    EXPECT_TRUE(row.layout.IsValidFor(row.rank)) << row.name;
    EXPECT_TRUE(names.insert(std::string(row.name)).second) << row.name;
    EXPECT_EQ(LayoutName(row.layout, row.rank), row.name);
    EXPECT_EQ(LayoutFromName(row.name, row.rank), row.layout);
  }
}

TEST(LayoutTest, NamelessLayoutsParseBackFromTheirGeneralForm) {
  for (const Layout& layout : LayoutsOfRank4()) {
    EXPECT_EQ(LayoutFromName(LayoutName(layout, 4), 4), layout) << LayoutName(layout, 4);
  }
  EXPECT_EQ(LayoutFromName("NHWC", 3), std::nullopt);
  EXPECT_EQ(LayoutFromName("order(0,0,1)", 3), std::nullopt);
  EXPECT_EQ(LayoutFromName("order(0,1", 2), std::nullopt);
}

TEST(LayoutTest, OffsetsAreDistinctAndInsideTheTensor) {
  const Shape shape{2, 5, 3, 7};
  for (const Layout& layout : LayoutsOfRank4()) {
    const OffsetMap map(shape, layout);
    std::set<int64_t> seen;
    std::vector<int64_t> coordinate(4);
    for (int64_t i = 0; i < shape.elements(); ++i) {
      Unravel(i, shape, coordinate);
      const int64_t offset = map(coordinate);
      EXPECT_TRUE(offset >= 0 && offset < PhysicalElements(shape, layout));
      EXPECT_TRUE(seen.insert(offset).second) << LayoutName(layout, 4);
    }
  }
}

TEST(LayoutTest, PhysicalDimensionsCountTheOffsetsOfTheirAxis) {
  const Shape shape{2, 21, 3, 7};
  for (const Layout& layout : LayoutsOfRank4()) {
    const PhysicalDims dims = ToPhysical(shape, layout);
    const OffsetMap map(shape, layout);
    for (size_t i = 0; i < dims.extent.size(); ++i) {
      const bool holds_second = dims.unit[i] < shape[dims.axis[i]];
      if (!holds_second) continue;
      EXPECT_EQ(map.AxisOffset(dims.axis[i], dims.unit[i]), dims.stride[i])
          << LayoutName(layout, 4) << " dimension " << i;
    }
  }
}

TEST(LayoutTest, LayoutsOfOnePixelOrOneBlockAreTheSameBytes) {
  const Layout row, nhwc = Layout::ChannelsLast(4), c8{.blocks = {{1, 8}}},
                    c16{.blocks = {{1, 16}}};
  EXPECT_TRUE(SameOffsets({2, 16, 1, 1}, row, nhwc));
  EXPECT_TRUE(SameOffsets({2, 16, 1, 1}, row, c8));
  EXPECT_TRUE(SameOffsets({2, 16, 1, 1}, c8, c16));
  EXPECT_TRUE(SameOffsets({2, 8, 3, 5}, nhwc, c8));
  EXPECT_FALSE(SameOffsets({2, 16, 3, 5}, nhwc, c8));
  EXPECT_TRUE(SameOffsets({1, 12, 1, 1}, c8, c16));   // padded to 16 in both
  EXPECT_FALSE(SameOffsets({2, 12, 1, 1}, row, c8));  // padded in one
  EXPECT_FALSE(SameOffsets({2, 20, 1, 1}, c8, c16));
  EXPECT_FALSE(SameOffsets({2, 16, 3, 5}, row, nhwc));
  EXPECT_FALSE(SameOffsets({2, 16, 1, 1}, row, {.order = {0, 2, 3, 1}, .pitch = 64}));
  EXPECT_TRUE(SameOffsets({2, 16, 3, 5}, c8, {.order = {0, 1, 2, 3}, .blocks = {{1, 8}}}));
}

TEST(LayoutTest, SameOffsetsAgreesWithEveryCoordinate) {
  for (const Shape& shape : {Shape{1, 8, 2, 3}, Shape{2, 8, 1, 1}, Shape{1, 4, 1, 2},
                             Shape{1, 16, 3, 1}, Shape{3, 1, 4, 4}, Shape{2, 5, 1, 1}}) {
    const std::vector<Layout> layouts = LayoutsOfRank4();
    for (const Layout& a : layouts) {
      for (const Layout& b : layouts) {
        if (!SameOffsets(shape, a, b)) continue;
        const OffsetMap map_a(shape, a), map_b(shape, b);
        EXPECT_EQ(PhysicalElements(shape, a), PhysicalElements(shape, b));
        std::vector<int64_t> coordinate(4);
        for (int64_t i = 0; i < shape.elements(); ++i) {
          Unravel(i, shape, coordinate);
          EXPECT_EQ(map_a(coordinate), map_b(coordinate));
        }
      }
    }
  }
}

TEST(LayoutTest, BlockedTensorsArePaddedToWholeBlocks) {
  EXPECT_EQ(PhysicalElements(Shape{1, 5, 2, 2}, {.blocks = {{1, 8}}}), 32);
  EXPECT_EQ(PhysicalElements(Shape{1, 16, 2, 2}, {.blocks = {{1, 8}}}), 64);
  EXPECT_EQ(PhysicalElements(Shape{1, 0, 2, 2}, {.blocks = {{1, 8}}}), 0);
}

TEST(LayoutTest, ChannelsLastPutsAxisOneInnermost) {
  for (int rank = 3; rank <= 5; ++rank) EXPECT_EQ(Layout::ChannelsLast(rank).order.back(), 1);
  EXPECT_TRUE(Layout::ChannelsLast(2).IsRowMajor());
}

TEST(ReorderTest, AnyToAnyAndBackKeepsValuesAndZeroesPadLanes) {
  const Shape shape{2, 5, 3, 7};
  const State plain{};
  Tensor source = Tensor::Create(DType::kF32, shape).value();
  for (int64_t i = 0; i < shape.elements(); ++i)
    source.as<float>()[static_cast<size_t>(i)] = static_cast<float>(i + 1);
  for (const Layout& a : LayoutsOfRank4()) {
    for (const Layout& b : LayoutsOfRank4()) {
      const State from{.layout = a}, to{.layout = b};
      std::vector<float> x(static_cast<size_t>(PhysicalElements(shape, a)), -1);
      std::vector<float> y(static_cast<size_t>(PhysicalElements(shape, b)), -1);
      std::vector<float> z(static_cast<size_t>(shape.elements()), -1);
      Reorder(shape, plain, source.data(), from, reinterpret_cast<std::byte*>(x.data()));
      Reorder(shape, from, reinterpret_cast<std::byte*>(x.data()), to,
              reinterpret_cast<std::byte*>(y.data()));
      Reorder(shape, to, reinterpret_cast<std::byte*>(y.data()), plain,
              reinterpret_cast<std::byte*>(z.data()));
      for (size_t i = 0; i < z.size(); ++i) ASSERT_EQ(z[i], source.as<float>()[i]);
      const auto zeros = std::count(y.begin(), y.end(), 0.0f);
      EXPECT_EQ(zeros, static_cast<ptrdiff_t>(y.size()) - shape.elements()) << LayoutName(b, 4);
    }
  }
}

TEST(ReorderTest, ConvertsStorageRoundingAndSaturating) {
  const Shape shape{5};
  const std::vector<float> values = {-300.0f, -1.5f, 0.5f, 2.5f, 1e9f};
  std::vector<int8_t> bytes(5);
  Reorder(shape, {.storage = DType::kF32}, reinterpret_cast<const std::byte*>(values.data()),
          {.storage = DType::kI8}, reinterpret_cast<std::byte*>(bytes.data()));
  EXPECT_EQ(bytes, (std::vector<int8_t>{-128, -2, 0, 2, 127}));
}

TEST(StateTest, NamesParseBack) {
  for (const Layout& layout : LayoutsOfRank4()) {
    for (bool external : {false, true}) {
      const State state{DeviceKind::kOpenCl, MemoryKind::kBuffer, layout, DType::kF16, external};
      const auto parsed = StateFromName(StateName(state, 4), 4);
      ASSERT_TRUE(parsed.ok()) << parsed.status().message();
      EXPECT_EQ(*parsed, state);
    }
  }
  EXPECT_FALSE(StateFromName("cpu:host:NHWC", 4).ok());
  // Which devices there are is known further up.
  EXPECT_EQ(StateFromName("tpu:host:NHWC:f32", 4)->device, DeviceKindOf("tpu"));
  EXPECT_FALSE(StateFromName("A tpu:host:NHWC:f32", 4).ok());
}

}  // namespace
}  // namespace fettle
