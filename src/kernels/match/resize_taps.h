// Resize as a table of taps for each axis, as kernels of all backends read it.
#pragma once

#include <memory>
#include <vector>

#include "base/status.h"
#include "ir/graph.h"
#include "ops/resize/op.h"

namespace fettle::kernels {

struct ResizeTaps {
  Shape output;
  std::vector<ops::AxisTaps> taps;  // by axis
  /// What TapsAt takes; null where more than the scales depends on extents.
  std::shared_ptr<const ops::ResizeAttributes> resize;
};

/// Fails with kUnsupported where `node` is no Resize, its sizes are no constants, there is nothing
/// to resize, or elements are extrapolated.
Result<ResizeTaps> ReadResizeTaps(const ir::Graph& group, const ir::Node& node);
/// The same of what was read, at other extents than zero.
Result<ResizeTaps> TapsAt(const ops::ResizeAttributes& known, const Shape& x, const Shape& y);

}  // namespace fettle::kernels
