#include "exec/arena_marks.h"

#include "base/memory_marks.h"
#include "tensor/tensor.h"

namespace fettle::exec {
namespace {

/// With what may be read behind it.
int64_t WholeBytes(const ArenaBlock& block) {
  return block.bytes + static_cast<int64_t>(kTensorSlack);
}

}  // namespace

ArenaMarks::ArenaMarks(const std::vector<ArenaBlock>& blocks, std::byte* arena, int64_t arena_bytes)
    : is_on_(marks::On()), arena_(arena), blocks_(blocks) {
  if (is_on_) marks::Dead(arena_, arena_bytes);
}

void ArenaMarks::Mark(int index) {
  for (const ArenaBlock& block : blocks_)
    if (block.last == index - 1) marks::Dead(arena_ + block.offset, WholeBytes(block));
  for (const ArenaBlock& block : blocks_)
    if (block.first == index) marks::Fresh(arena_ + block.offset, WholeBytes(block));
}

}  // namespace fettle::exec
