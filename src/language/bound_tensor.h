// Tensors of a decoder's runs, in the memory in which they are computed.
#pragma once

#include <memory>
#include <vector>

#include "runtime/tensor_buffer.h"

namespace fettle::language {

using SharedBuffer = std::shared_ptr<runtime::TensorBuffer>;

/// A tensor of the host as a run takes it: itself, or a copy in memory of the device.
struct BoundTensor {
  Tensor host;
  SharedBuffer buffer;

  /// Null `device`: the host.
  static Result<BoundTensor> Create(const std::shared_ptr<const Device>& device, DType dtype,
                                    const Shape& shape);
  /// Copies to the device, unless it has the same few bytes already, and from it.
  Status Send();
  Status Fetch();
  /// Fetches into `to`, a tensor of its type and shape, which may be replaced by another one.
  Status FetchInto(Tensor& to) { return buffer->ReadOrTakeInto(to); }

 private:
  std::vector<std::byte> sent_;
};

/// Two buffers over one memory: a run reads the past and writes the present in place.
struct CacheBuffers {
  SharedBuffer past, present;
};
Result<CacheBuffers> MakeCache(const std::shared_ptr<const Device>& device, DType type,
                               const Shape& shape);

}  // namespace fettle::language
