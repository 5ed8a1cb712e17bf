// Memory of packed constants: blocks apart from each other, counted, and given back.
#include "exec/blob_pages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "base/memory_budget.h"
#include "tensor/tensor.h"

namespace fettle::exec {
namespace {

TEST(BlobPagesTest, BlocksOfManySizesHoldWhatIsWritten) {
  const auto budget = std::make_shared<MemoryBudget>(int64_t{1} << 30);
  {
    const MemoryScope scope(budget);
    BlobPages pages;
    std::mt19937 random(5);
    struct Block {
      std::shared_ptr<std::byte> data;
      int64_t bytes;
      int fill;
    };
    std::vector<Block> blocks;
    int64_t held = 0;
    for (int i = 0; i < 400; ++i) {
      const int64_t bytes = i % 50 == 0 ? 5 << 20 : 1 + random() % (i % 3 == 0 ? 700000 : 5000);
      auto data = pages.Allocate(bytes).value();
      ASSERT_EQ(reinterpret_cast<uintptr_t>(data.get()) % kTensorAlignment, 0u);
      // What kernels read behind a block is there, and zero.
      for (size_t k = 0; k < kTensorSlack; ++k) ASSERT_EQ(data.get()[bytes + k], std::byte{0});
      std::memset(data.get(), i % 255 + 1, bytes);
      blocks.push_back({std::move(data), bytes, i % 255 + 1});
      held += bytes;
      if (i % 4 == 3) {
        const size_t gone = random() % blocks.size();
        held -= blocks[gone].bytes;
        blocks.erase(blocks.begin() + gone);
      }
      ASSERT_EQ(budget->used(), held);
    }
    for (const Block& block : blocks) {
      const std::byte* begin = block.data.get();
      const auto fill = static_cast<std::byte>(block.fill);
      ASSERT_EQ(std::count(begin, begin + block.bytes, fill), block.bytes);
    }
  }
  EXPECT_EQ(budget->used(), 0);
}

TEST(BlobPagesTest, ABlockOutlivesThePagesItCameFrom) {
  std::shared_ptr<std::byte> last;
  {
    BlobPages pages;
    for (int i = 0; i < 20; ++i) last = pages.Allocate(1 << 20).value();
  }
  std::memset(last.get(), 7, 1 << 20);
  EXPECT_EQ(last.get()[(1 << 20) - 1], std::byte{7});
}

TEST(BlobPagesTest, ALimitHolds) {
  const auto budget = std::make_shared<MemoryBudget>(int64_t{8} << 20);
  const MemoryScope scope(budget);
  BlobPages pages;
  std::vector<std::shared_ptr<std::byte>> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(pages.Allocate(1 << 20).value());
  EXPECT_EQ(pages.Allocate(1).status().code(), StatusCode::kOutOfMemory);
  blocks.pop_back();
  EXPECT_TRUE(pages.Allocate(1).ok());
}

}  // namespace
}  // namespace fettle::exec
