#include "kernels/cpu/convert/convert.h"

#include <gtest/gtest.h>

#include <cstring>

#include "device/cpu/cpu_device.h"
#include "ir/noise.h"
#include "kernels/cpu/simd/targets.h"
#include "tensor/reorder.h"

namespace fettle::kernels {
namespace {

/// Converts noise between every pair of `states`, with each SIMD target, and compares with the
/// generic reorder byte by byte.
void CheckConversions(const Shape& shape, const std::vector<State>& states) {
  const CpuDevice device(std::make_shared<ThreadPool>(2));
  const Tensor noise = ir::NoiseTensor(DType::kF32, shape, 3, {-300, 300}).value();
  for (const State& from : states) {
    const auto src = AllocateHost(StateBytes(shape, from)).value();
    Reorder(shape, {}, noise.data(), from, src.get());
    for (const State& to : states) {
      const auto bytes = static_cast<size_t>(StateBytes(shape, to));
      const auto want = AllocateHost(StateBytes(shape, to)).value();
      Reorder(shape, from, src.get(), to, want.get());
      const auto kernel = PrepareConversion(shape, from, to, device).value();
      const auto workspace = AllocateHost(kernel->workspace_bytes()).value();
      for (std::string_view target : SimdTargets()) {
        ForceSimdTarget(target);
        const auto got = AllocateHost(StateBytes(shape, to)).value();
        std::memset(got.get(), 0xff, bytes);
        CpuStream stream(device, 2);
        const Location in{src.get()}, out{got.get()};
        ASSERT_TRUE(kernel->Launch({{&in, 1}, {&out, 1}, {}, {workspace.get()}, stream}).ok());
        EXPECT_EQ(std::memcmp(got.get(), want.get(), bytes), 0)
            << shape.ToString() << ": " << StateName(from, shape.rank()) << " to "
            << StateName(to, shape.rank()) << " on " << target;
      }
      ForceSimdTarget("");
    }
  }
}

TEST(Conversion, LayoutsAndStorageOfImages) {
  std::vector<State> states;
  for (DType storage : {DType::kF32, DType::kF16, DType::kBF16, DType::kU8, DType::kI8}) {
    states.push_back({.storage = storage});
    states.push_back({.layout = Layout::ChannelsLast(4), .storage = storage});
  }
  for (const Shape& shape : {Shape{1, 3, 17, 19}, Shape{2, 16, 5, 7}, Shape{1, 1, 1, 1},
                             Shape{1, 64, 33, 1}, Shape{0, 3, 2, 2}, Shape{1, 5, 200, 301}}) {
    CheckConversions(shape, states);
  }
}

/// The layouts of the table, and one row more: channels outermost, in blocks of a size that no
/// other layout has.
std::vector<NamedLayout> LayoutRows() {
  std::vector<NamedLayout> rows{{"row", 4, {}}, {"CNHW6c", 4, {{1, 0, 2, 3}, {{1, 6}}}}};
  for (const NamedLayout& row : LayoutTable()) {
    if (row.rank == 4) rows.push_back(row);
  }
  return rows;
}

TEST(Conversion, EveryLayoutToEveryOtherAndToAnInventedOne) {
  for (DType storage : {DType::kF32, DType::kU8}) {
    std::vector<State> states;
    for (const NamedLayout& row : LayoutRows())
      states.push_back({.layout = row.layout, .storage = storage});
    for (const Shape& shape : {Shape{2, 21, 3, 5}, Shape{1, 64, 7, 9}, Shape{1, 1, 1, 1},
                               Shape{3, 37, 1, 1}, Shape{1, 3, 40, 33}, Shape{0, 8, 2, 2}}) {
      CheckConversions(shape, states);
    }
  }
}

TEST(Conversion, StorageTypesOfBlockedLayouts) {
  std::vector<State> states;
  for (DType storage : {DType::kF32, DType::kF16, DType::kI8}) {
    states.push_back({.storage = storage});
    states.push_back({.layout = Layout{.blocks = {{1, 8}}}, .storage = storage});
    states.push_back({.layout = Layout{.blocks = {{1, 32}}}, .storage = storage});
  }
  for (const Shape& shape : {Shape{2, 21, 3, 5}, Shape{1, 96, 20, 30}, Shape{1, 40, 1, 1}})
    CheckConversions(shape, states);
}

TEST(Conversion, BlocksOnTwoAxesAndOnOneTwice) {
  CheckConversions({3, 21, 5, 13},
                   {{.layout = Layout{.blocks = {{1, 4}, {3, 2}}}},
                    {.layout = Layout{.order = {2, 0, 3, 1}, .blocks = {{1, 2}, {0, 2}, {1, 4}}}},
                    {.layout = Layout{.blocks = {{1, 16}}}},
                    {.layout = Layout::ChannelsLast(4)}});
}

TEST(Conversion, ReadsExternalTensorsAtAnyAddress) {
  const CpuDevice device(std::make_shared<ThreadPool>(2));
  const Shape shape{1, 21, 9, 31};
  const Tensor noise = ir::NoiseTensor(DType::kF32, shape, 3, {-300, 300}).value();
  const auto bytes = static_cast<size_t>(noise.elements() * 4);
  const auto odd = AllocateHost(noise.elements() * 4 + 1).value();
  std::memcpy(odd.get() + 1, noise.data(), bytes);
  for (const NamedLayout& row : LayoutRows()) {
    const State to{.layout = row.layout};
    const auto want = AllocateHost(StateBytes(shape, to)).value();
    const auto got = AllocateHost(StateBytes(shape, to)).value();
    Reorder(shape, {}, noise.data(), to, want.get());
    const auto kernel = PrepareConversion(shape, {.external = true}, to, device).value();
    CpuStream stream(device, 2);
    const Location in{odd.get() + 1}, out{got.get()};
    ASSERT_TRUE(kernel->Launch({{&in, 1}, {&out, 1}, {}, {}, stream}).ok());
    EXPECT_EQ(std::memcmp(got.get(), want.get(), static_cast<size_t>(StateBytes(shape, to))), 0)
        << row.name;
  }
}

TEST(Conversion, OtherRanksAndWideTypes) {
  CheckConversions({}, {{.storage = DType::kF32}, {.storage = DType::kI32}});
  CheckConversions({7}, {{.storage = DType::kF32}, {.storage = DType::kF64}});
  CheckConversions({2, 3, 70}, {{.layout = Layout::ChannelsLast(3), .storage = DType::kI64},
                                {.storage = DType::kI64},
                                {.storage = DType::kI32},
                                {.storage = DType::kU8}});
}

}  // namespace
}  // namespace fettle::kernels
