// Memory for the results of one session's programs.
#pragma once

#include <memory>
#include <vector>

#include "device/device.h"
#include "tensor/tensor.h"

namespace fettle::runtime {

/// Hands out memory again that callers have released, also for results of other shapes: to get new
/// pages takes longer than to compute most results. A caller that releases a result when it has the
/// next one alternates between two blocks. Belongs to one thread; its tensors do not.
class OutputPool {
 public:
  /// A tensor that nobody else holds, with undefined elements. For a device beside the CPU, in
  /// memory from which it transfers faster, if there is such memory. Fails with kOutOfMemory.
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
  /// Null: no free block is large enough. `outgrown`: whether one would be if it were a little
  /// larger.
  Block* Find(int64_t bytes, const Device* device, bool& outgrown);
  Result<Block*> Make(int64_t bytes, const DeviceSet& devices, bool outgrown);
  /// Releases free blocks that nobody has needed for long, or all of them.
  void Drop(bool all);

  std::vector<Block> blocks_;
  size_t next_ = 0;  // the block behind the last one: results come in the same order at each run
  int64_t uses_ = 0;
};

}  // namespace fettle::runtime
