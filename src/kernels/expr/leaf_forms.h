// How backends lay out and walk the leaves of an expression.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernels/kernel.h"

namespace fettle::kernels {

/// `shape` with extents of 1 in front, so that it has `rank` axes.
Shape AlignRight(const Shape& shape, int rank);

/// Writes one element, at row-major index `i` of a derived constant's shape. Empty: those of the
/// one constant that it is derived from, as f32.
using MakeElement =
    std::function<Status(std::span<const Constant* const> constants, int64_t i, float* out)>;

/// A constant of `shape` in `layout`, as f32, made from others; pad lanes are zero.
PackRequest PackElements(std::vector<ir::ValueId> constants, const Shape& shape,
                         const Layout& layout, std::string recipe, MakeElement make);

/// Drops dimensions of extent 1 and joins neighbours that every operand walks as one, in `extents`
/// and in the `strides` of each operand along them. The last `fixed` dimensions stay as they are,
/// and one always remains.
void JoinDimensions(std::vector<int64_t>& extents,
                    const std::vector<std::vector<int64_t>*>& strides, size_t fixed);

}  // namespace fettle::kernels
