// Pooling: attributes, as kernels read them.
#pragma once

#include "base/status.h"
#include "ir/graph.h"
#include "ops/window.h"
#include "tensor/shape.h"

namespace fettle::ops {

/// MaxPool, AveragePool and LpPool, resolved for one input shape.
struct PoolAttributes : Window {
  std::vector<int64_t> output;     // spatial extents
  bool count_include_pad = false;  // AveragePool: padding inside [-pad_begin, extent + pad_end)
                                   // counts, what ceil_mode adds behind it does not
  bool column_major = false;       // MaxPool: order of indices over the spatial axes
  int64_t p = 2;                   // LpPool
};
/// Fails with kInvalidModel on sizes that disagree.
Result<PoolAttributes> ReadPool(const ir::Node& node, const Shape& input);

/// MaxUnpool and its spatial output extents without `output_shape`.
struct MaxUnpoolAttributes {
  std::vector<int64_t> output;
};
Result<MaxUnpoolAttributes> ReadMaxUnpool(const ir::Node& node, const Shape& input);

/// RoiAlign over a 4-D input; rois are [n, 4] as x1, y1, x2, y2.
struct RoiAlignAttributes {
  int64_t output_height = 1, output_width = 1;
  int64_t sampling_ratio = 0;  // 0: ceil(roi extent / output extent)
  double spatial_scale = 1;
  bool half_pixel = true;
  bool max = false;
};
Result<RoiAlignAttributes> ReadRoiAlign(const ir::Node& node);

}  // namespace fettle::ops
