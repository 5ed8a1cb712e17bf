// A tensor in memory as a few extents around the axes that an operator works along, in any layout.
#pragma once

#include <vector>

#include "base/status.h"
#include "tensor/layout.h"

namespace fettle::kernels {

/// Element (o, r, i) lies at (o * row + r) * inner + i. Pad lanes count as elements of `outer` and
/// `inner`.
struct RowExtents {
  int64_t outer = 1, row = 1, inner = 1;
  int64_t elements() const { return outer * row * inner; }
};

/// Splits a dense tensor at the axes of `mask`, which must be neighbours in memory (dimensions of
/// one element aside) and whole blocks. Fails with kUnsupported where they are not.
Result<RowExtents> SplitRows(const Shape& shape, const Layout& layout,
                             const std::vector<bool>& mask);

/// Pixels of `inner` neighbouring elements, in `outer` images: what N and C come to. Row-major,
/// these are planes of single elements; channels-last, all channels of a pixel; in NCHW8c, eight.
struct ImageExtents {
  int64_t outer = 1, inner = 1;
};

/// Splits a dense tensor of rank 3 or more at its spatial axes (2 and up), which must lie in order,
/// unblocked and next to each other. Fails with kUnsupported where they do not.
Result<ImageExtents> SplitImages(const Shape& shape, const Layout& layout);

}  // namespace fettle::kernels
