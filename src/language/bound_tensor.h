// Tensors of a decoder's runs, which lie where they are computed.
#pragma once

#include <memory>
#include <vector>

#include "runtime/tensor_buffer.h"

namespace fettle::language {

using SharedBuffer = std::shared_ptr<runtime::TensorBuffer>;

/// A tensor of the host as a run takes it: itself, or memory of the device that goes with it.
struct BoundTensor {
  Tensor host;
  SharedBuffer buffer;

  /// Null `device`: the host.
  static Result<BoundTensor> Create(const std::shared_ptr<const Device>& device, DType dtype,
                                    const Shape& shape);
  /// To the device, unless it has the same few bytes already, and from it.
  Status Send();
  Status Fetch();
  /// The same for whoever looks at a tensor of its type and shape, which may become another.
  Status FetchInto(Tensor& to) { return buffer->ReadOrTakeInto(to); }

 private:
  std::vector<std::byte> sent_;
};

/// Two buffers over one memory: a run reads the past and writes the present there.
struct CacheBuffers {
  SharedBuffer past, present;
};
Result<CacheBuffers> MakeCache(const std::shared_ptr<const Device>& device, DType type,
                               const Shape& shape);

}  // namespace fettle::language
