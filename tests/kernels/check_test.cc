// The checks that kernels are verified with: they must notice what they are for.
#include <gtest/gtest.h>

#include "kernels/check/guarded_block.h"
#include "kernels/check/state_map.h"
#include "tensor/reorder.h"

namespace fettle::kernels {
namespace {

TEST(GuardedBlockTest, NoticesWritesOnEitherSide) {
  GuardedBlock block;
  EXPECT_TRUE(block.Intact());
  for (const int64_t shift : {0, 4}) {
    for (const int64_t at : {-1, -64, 100, 163}) {
      ASSERT_TRUE(block.Resize(100, shift).ok());
      block.Fill(std::byte{1});
      EXPECT_TRUE(block.Intact());
      block.data()[at] = std::byte{2};
      EXPECT_FALSE(block.Intact()) << at;
    }
  }
}

TEST(GuardedBlockTest, KeepsItsAllocationWhileThatIsLargeEnough) {
  GuardedBlock block;
  ASSERT_TRUE(block.Resize(1000).ok());
  const std::byte* first = block.data();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % kTensorAlignment, 0U);
  ASSERT_TRUE(block.Resize(10).ok());
  EXPECT_EQ(block.data(), first);
  EXPECT_TRUE(block.Intact());
}

TEST(StateMapTest, ReadsEveryLayoutLikeTheGenericConversion) {
  const Shape shape{2, 5, 3, 7};
  Tensor plain = Tensor::Create(DType::kF32, shape).value();
  for (int64_t i = 0; i < plain.elements(); ++i)
    plain.as<float>()[static_cast<size_t>(i)] = 1 + float(i);
  for (const NamedLayout& named : LayoutTable()) {
    if (named.rank != shape.rank() || named.layout.image_y_dims != 0) continue;
    const State state{.layout = named.layout};
    std::vector<std::byte> bytes(static_cast<size_t>(StateBytes(shape, state)));
    Reorder(shape, {}, plain.data(), state, bytes.data());
    const StateMap map(shape, state);
    EXPECT_EQ(map.FindDirtyPad(bytes.data()), -1) << named.name;
    std::vector<double> read(100);
    map.Read(bytes.data(), 11, 100, read.data());
    for (size_t i = 0; i < read.size(); ++i) ASSERT_EQ(read[i], 12 + double(i)) << named.name;
    if (PhysicalElements(shape, state.layout) == shape.elements()) continue;
    size_t noticed = 0;
    for (size_t i = 0; i < bytes.size(); i += 4) {
      auto* element = reinterpret_cast<float*>(bytes.data() + i);
      if (*element != 0) continue;
      *element = 1;
      noticed += map.FindDirtyPad(bytes.data()) == static_cast<int64_t>(i / 4) ? 1 : 0;
      *element = 0;
    }
    EXPECT_EQ(noticed, bytes.size() / 4 - static_cast<size_t>(shape.elements())) << named.name;
  }
}

TEST(StateMapTest, ReadsScalars) {
  const double value = 3;
  double read = 0;
  StateMap(Shape{}, {.storage = DType::kF64})
      .Read(reinterpret_cast<const std::byte*>(&value), 0, 1, &read);
  EXPECT_EQ(read, 3);
}

}  // namespace
}  // namespace fettle::kernels
