// Linear quantisation: which scale and zero point belong to an element.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "ir/graph.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace fettle::ops {

/// How the scales of QuantizeLinear and DequantizeLinear spread over a tensor.
struct QuantAxis {
  enum class Kind {
    kTensor,   // one scale
    kAxis,     // one scale for each index of `axis`
    kBlocked,  // scales have the tensor's rank; `block` neighbours along `axis` share one
  };
  Kind kind = Kind::kTensor;
  int axis = 0;
  int64_t block = 1;

  /// Row-major index of the scale of the element at `coordinate`, in a scale tensor with these
  /// strides.
  int64_t ScaleOffset(std::span<const int64_t> coordinate, std::span<const int64_t> strides) const;
};

/// Reads `axis` and `block_size`; fails with kInvalidModel where scales do not fit the tensor.
Result<QuantAxis> ReadQuantAxis(const ir::Node& node, const Shape& x, const Shape& scale);

/// The integers that a quantised type holds.
struct QuantRange {
  int64_t low = 0, high = 0;
};
QuantRange RangeOf(DType dtype);

}  // namespace fettle::ops
