// The lanes behind the last element of a blocked axis, which hold zero at every kernel boundary.
#pragma once

#include <vector>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/move/strided_copy.h"
#include "tensor/layout.h"

namespace fettle::kernels {

/// Pad lanes as a strided window: element offset and axes (source strides are 0).
struct PadBox {
  int64_t offset = 0;
  std::vector<CopyAxis> axes;
};

/// All pad lanes of a tensor, each once; none where the shape fills its blocks.
std::vector<PadBox> FindPadLanes(const Shape& shape, const Layout& layout);

/// Zeroes the pad lanes of an output, for kernels that compute whole blocks. Immutable.
class PadLanes {
 public:
  /// None.
  PadLanes() = default;
  PadLanes(const Shape& shape, const Layout& layout, int64_t element_bytes);

  bool empty() const { return copies_.empty(); }
  void Zero(CpuStream& stream, std::byte* data) const;

 private:
  std::vector<StridedCopy> copies_;
};

}  // namespace fettle::kernels
