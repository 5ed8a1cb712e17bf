// Tables of offsets as nests of loops: how an axis that is cut into blocks is walked.
#pragma once

#include <vector>

#include "kernels/move/copy_axis.h"

namespace fettle::kernels {

/// Where one element of an axis lies on both sides of a copy.
struct OffsetPair {
  int64_t src, dst;
};

/// Loops (outermost first) from a first element on.
struct LoopNest {
  int64_t src = 0, dst = 0;
  std::vector<CopyAxis> axes;
};

/// Nests of loops that visit the pairs of `table` in its order. An axis in blocks of equal steps
/// comes out as one nest, its ragged ends as others; any table comes out right.
std::vector<LoopNest> FindLoops(const std::vector<OffsetPair>& table);

}  // namespace fettle::kernels
