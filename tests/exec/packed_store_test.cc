// Packed forms of constants that come and go, as those of many shapes do.
#include "exec/packed_store.h"

#include <gtest/gtest.h>

namespace fettle::exec {
namespace {

kernels::PackRequest RequestOf(ir::ValueId constant) {
  return {.constants = {constant},
          .recipe = "copy",
          .bytes = 64,
          .pack = [](std::span<const Constant* const> constants, std::byte* out) {
            constants[0]->CopyTo(0, constants[0]->elements(), out);
            return OkStatus();
          }};
}

ir::Graph GraphOf(int64_t number, ir::ValueId& constant) {
  ir::Graph graph;
  const Tensor tensor = Tensor::FromVector(Shape{8}, std::vector<int64_t>(8, number)).value();
  constant = graph.AddConstant("c", Constant::FromTensor(tensor));
  return graph;
}

TEST(PackedStoreTest, ForgetsFormsThatNobodyHolds) {
  PackedStore store;
  ir::ValueId constant = ir::kAbsent;
  const ir::Graph kept = GraphOf(-1, constant);
  const ir::ValueId own = constant;
  const auto held = store.Get(RequestOf(constant), kept).value();
  for (int64_t i = 0; i < 5000; ++i) {
    const ir::Graph graph = GraphOf(i, constant);
    ASSERT_TRUE(store.Get(RequestOf(constant), graph).ok());
  }
  EXPECT_LE(store.remembered(), 1100u);
  EXPECT_EQ(store.Living().size(), 1u);
  EXPECT_EQ(store.Get(RequestOf(own), kept).value(), held);
}

}  // namespace
}  // namespace fettle::exec
