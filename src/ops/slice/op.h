// Slice: the window it takes, as kernels read it.
#pragma once

#include <span>
#include <vector>

#include "base/status.h"
#include "tensor/shape.h"

namespace fettle::ops {

/// Output element c is input element start[i] + c[i] * step[i] on every axis i of the input.
struct SliceWindow {
  std::vector<int64_t> start, step;
  Shape shape;
};

/// Resolves the operands of Slice for one input shape: negative and out-of-range positions,
/// left-out `axes` (0, 1, ...) and `steps` (1), each given as an empty span. Fails with
/// kInvalidModel.
Result<SliceWindow> ResolveSlice(const Shape& input, std::span<const int64_t> starts,
                                 std::span<const int64_t> ends, std::span<const int64_t> axes,
                                 std::span<const int64_t> steps);

}  // namespace fettle::ops
