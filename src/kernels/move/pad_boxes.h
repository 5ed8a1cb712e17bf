// The lanes behind the last element of a blocked axis, which hold zero at every kernel boundary.
#pragma once

#include <vector>

#include "kernels/move/copy_axis.h"
#include "tensor/layout.h"

namespace fettle::kernels {

/// Pad lanes as a strided window: element offset and axes (source strides are 0).
struct PadBox {
  int64_t offset = 0;
  std::vector<CopyAxis> axes;
};

/// All pad lanes of a tensor, each once; none where the shape fills its blocks.
std::vector<PadBox> FindPadLanes(const Shape& shape, const Layout& layout);

}  // namespace fettle::kernels
