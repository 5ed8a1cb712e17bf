// Concat and Split: where the parts lie.
#pragma once

#include <span>
#include <vector>

#include "base/status.h"
#include "ir/graph.h"
#include "tensor/shape.h"

namespace fettle::ops {

/// The extents of the parts that Split makes of axis `axis`, which has `extent` elements. `sizes`
/// is the value of the operand 'split' (empty: equal parts, the last one smaller where
/// 'num_outputs' is set). Fails with kInvalidModel.
Result<std::vector<int64_t>> ReadSplitSizes(const ir::Node& node, std::span<const int64_t> sizes,
                                            int64_t extent);

}  // namespace fettle::ops
