// Zeroing the lanes behind the last element of a blocked axis.
#pragma once

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/move/copy_set.h"
#include "kernels/move/pad_boxes.h"

namespace fettle::kernels {

/// Zeroes the pad lanes of an output, for kernels that compute whole blocks. Immutable.
class PadLanes {
 public:
  /// None.
  PadLanes() = default;
  PadLanes(const Shape& shape, const Layout& layout, int64_t element_bytes);

  bool empty() const { return copies_.empty(); }
  void Zero(CpuStream& stream, std::byte* data) const;

 private:
  CopySet copies_;
};

}  // namespace fettle::kernels
