// Normalisations: y = (x - mean) / sqrt(variance + epsilon) * scale + bias over groups of elements
// that differ from operator to operator.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "ir/graph.h"
#include "ops/walk.h"
#include "tensor/shape.h"

namespace fettle::ops {

/// Which elements of an input [n, c, spatial...] share statistics, and where their scale is.
struct NormGroups {
  /// The input with its channels split in two axes where groups of them are normalised:
  /// [n, groups, c / groups, spatial...]. Equal to the input's shape otherwise.
  Shape shape;
  /// The axes of `shape` that one mean and variance cover.
  AxisMask mask;
};

/// The groups of a LayerNormalization, RMSNormalization, InstanceNormalization,
/// GroupNormalization or LpNormalization node. Fails with kInvalidModel on bad attributes.
Result<NormGroups> ReadNormGroups(const ir::Node& node, const Shape& x);

/// LRN: the window of `size` channels around c is [c - (size-1)/2, c + size/2].
struct LrnAttributes {
  double alpha = 0, beta = 0, bias = 0;
  int64_t size = 0;
};
Result<LrnAttributes> ReadLrn(const ir::Node& node);

}  // namespace fettle::ops
