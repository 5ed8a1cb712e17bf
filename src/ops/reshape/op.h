// Operators that give the elements another shape, or repeat them.
#pragma once

#include <optional>
#include <span>

#include "base/status.h"
#include "tensor/shape.h"

namespace fettle::ops {

/// The shape that Reshape gives: 0 copies the input's extent (unless `allow_zero`), one -1 takes
/// what is left. Fails with kInvalidModel where the element counts differ.
Result<Shape> ResolveReshape(const Shape& input, std::span<const int64_t> target, bool allow_zero);
/// Without the named axes, or without all axes of extent 1 where `axes` is empty.
Result<Shape> ResolveSqueeze(const Shape& input, std::span<const int64_t> axes);
/// With an axis of extent 1 at each position of the output that `axes` names.
Result<Shape> ResolveUnsqueeze(const Shape& input, std::span<const int64_t> axes);
/// Two axes: the product of those before `axis` and of the rest.
Result<Shape> ResolveFlatten(const Shape& input, int64_t axis);
/// The extents [start, end) that Shape gives, both clamped.
struct AxisRange {
  int begin = 0;
  int end = 0;
};
AxisRange ResolveShapeRange(int rank, int64_t start, std::optional<int64_t> end);

}  // namespace fettle::ops
