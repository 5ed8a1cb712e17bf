// Scale and bias of normalisations, which OpenCL kernels take as constants.
#pragma once

#include "kernels/opencl/states.h"

namespace fettle::kernels {

/// A constant as `elements` floats (its own, or one repeated), `padded` to a length with zeros.
/// Fails with kUnsupported where the value is no such constant.
Result<PackRequest> VectorPack(const ir::Graph& group, ir::ValueId id, int64_t elements,
                               int64_t padded);

/// OK for a group of one normalising node with one used output over a float tensor.
Status CheckNormalisation(const ir::Graph& group);

/// Whether the node normalises rows: LayerNormalization or RMSNormalization.
bool IsRowNormalisation(const ir::Node& node);

/// The length of the rows that a node of the group normalises, which are whole rows of the
/// innermost axes. Fails with kUnsupported and the reason where it does not.
Result<int64_t> LengthOfRows(const ir::Graph& group, const ir::Node& node);

/// OK where node 0 is an RMSNormalization of one row of floats over its last axis, by a constant,
/// which kernels take as their last pack, with the epsilon behind it.
Status CheckRowNorm(const ir::Graph& group);

}  // namespace fettle::kernels
