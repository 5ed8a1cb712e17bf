#include "runtime/output_pool.h"

#include <algorithm>
#include <cstring>

#include "base/memory_budget.h"

namespace fettle::runtime {
namespace {

/// How much larger than a result its memory may be: a part, and what small ones waste in any case.
constexpr int64_t kPart = 4, kLittle = 4096;
/// The part that is added where results grow, as caches do.
constexpr int64_t kRoom = 8;
/// After so many turns of all blocks, one that had none is let go of.
constexpr int64_t kIdleTurns = 4;

bool IsFree(const std::shared_ptr<std::byte>& memory) {
  if (memory.use_count() != 1) return false;
  // What another thread has let go of was last used before this.
  std::shared_ptr<std::byte>(memory).reset();
  return true;
}

const Device* FirstBeside(const DeviceSet& devices) {
  return devices.beside_cpu().empty() ? nullptr : devices.beside_cpu()[0];
}

/// With kTensorSlack.
Result<std::shared_ptr<std::byte>> Allocate(int64_t bytes, const DeviceSet& devices) {
  for (const Device* device : devices.beside_cpu()) {
    std::shared_ptr<std::byte> memory =
        device->AllocateForTransfers(bytes + static_cast<int64_t>(kTensorSlack));
    if (memory != nullptr) return memory;
  }
  return AllocateHost(bytes);
}

}  // namespace

OutputPool::Block* OutputPool::Find(int64_t bytes, const Device* device, bool& outgrown) {
  const int64_t most = bytes + bytes / kPart + kLittle;
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const size_t at = next_ + i < blocks_.size() ? next_ + i : next_ + i - blocks_.size();
    Block& block = blocks_[at];
    if (block.device != device || block.bytes > most || most > 2 * (block.bytes + kLittle) ||
        !IsFree(block.memory))
      continue;
    if (block.bytes < bytes) {
      outgrown = true;
      continue;
    }
    next_ = at + 1;
    return &block;
  }
  return nullptr;
}

Result<OutputPool::Block*> OutputPool::Make(int64_t bytes, const DeviceSet& devices,
                                            bool outgrown) {
  const std::shared_ptr<MemoryBudget>& budget = MemoryBudget::Current();
  Drop(/*all=*/!budget->Check(bytes).ok());
  RETURN_IF_ERROR(budget->Check(bytes));
  Block block{.bytes = bytes, .device = FirstBeside(devices)};
  if (const int64_t room = bytes / kRoom; outgrown && budget->Check(bytes + room).ok())
    block.bytes += room;
  ASSIGN_OR_RETURN(block.memory, Allocate(block.bytes, devices));
  blocks_.push_back(std::move(block));
  next_ = blocks_.size();
  return &blocks_.back();
}

void OutputPool::Drop(bool all) {
  const int64_t oldest = uses_ - kIdleTurns * std::ssize(blocks_);
  std::erase_if(blocks_, [&](const Block& block) {
    return (all || block.last_use < oldest) && IsFree(block.memory);
  });
}

Result<Tensor> OutputPool::Take(DType dtype, const Shape& shape, const DeviceSet& devices) {
  const int64_t bytes = StorageBytes(dtype, shape.elements());
  bool outgrown = false;
  Block* block = Find(bytes, FirstBeside(devices), outgrown);
  if (block == nullptr) {
    ASSIGN_OR_RETURN(block, Make(bytes, devices, outgrown));
  }
  block->last_use = ++uses_;
  std::memset(block->memory.get() + bytes, 0, kTensorSlack);
  return Tensor::Borrow(dtype, shape, block->memory.get(), block->memory);
}

int64_t OutputPool::free_bytes() const {
  int64_t bytes = 0;
  for (const Block& block : blocks_)
    if (IsFree(block.memory)) bytes += block.bytes;
  return bytes;
}

}  // namespace fettle::runtime
