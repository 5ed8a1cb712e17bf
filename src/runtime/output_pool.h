// Memory that the programs of one session write their results into.
#pragma once

#include <memory>
#include <vector>

#include "device/device.h"
#include "tensor/tensor.h"

namespace fettle::runtime {

/// Hands out memory again that callers have let go of, also for results of other shapes: pages of
/// new memory take longer than most results. Callers that let go of a result when they have the
/// next one take turns between two blocks. Belongs to one thread; its tensors do not.
class OutputPool {
 public:
  /// A tensor that nobody else holds, of any elements. With a device beside the CPU, where
  /// transfers from it take less time to, if there is such memory. Fails with kOutOfMemory.
  Result<Tensor> Take(DType dtype, const Shape& shape, const DeviceSet& devices);

  /// Of what it could hand out again.
  int64_t free_bytes() const;
  size_t blocks() const { return blocks_.size(); }

 private:
  struct Block {
    std::shared_ptr<std::byte> memory;
    int64_t bytes = 0;               // kTensorSlack more are there
    const Device* device = nullptr;  // the first one beside the CPU that it was made for
    int64_t last_use = 0;
  };
  /// Null: none has the room and is free. `outgrown`: whether one would be, were it a little
  /// larger.
  Block* Find(int64_t bytes, const Device* device, bool& outgrown);
  Result<Block*> Make(int64_t bytes, const DeviceSet& devices, bool outgrown);
  /// Lets go of free blocks that nobody has needed for long, or of all of them.
  void Drop(bool all);

  std::vector<Block> blocks_;
  size_t next_ = 0;  // the block behind the last one: results come in the same order at each run
  int64_t uses_ = 0;
};

}  // namespace fettle::runtime
