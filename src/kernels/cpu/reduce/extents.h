// A tensor in memory as [outer, row, inner] where some axes form the rows of an operator.
#pragma once

#include <vector>

#include "base/status.h"
#include "tensor/layout.h"

namespace fettle::kernels {

/// Element (o, r, i) lies at (o * row + r) * inner + i.
struct RowExtents {
  int64_t outer = 1, row = 1, inner = 1;
  int64_t elements() const { return outer * row * inner; }
};

/// Splits a dense tensor at the axes of `mask`, which must be neighbours in memory (axes of one
/// element aside). Fails with kUnsupported where they are not.
Result<RowExtents> SplitRows(const Shape& shape, const Layout& layout,
                             const std::vector<bool>& mask);

}  // namespace fettle::kernels
