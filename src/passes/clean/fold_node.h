// Computing one node whose inputs are all known.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"
#include "ops/op.h"
#include "tensor/tensor.h"

namespace fettle::passes {

/// Elements of inputs and outputs that the scalar oracle computes in a fraction of a second.
inline constexpr int64_t kMostFoldedElements = 16'000'000;

/// The outputs of `node` (an empty Constant where absent), given one constant per input (null where
/// absent). Nothing where it must stay a node: random and control operators, DequantizeLinear
/// (an annotation that kernels read), results much larger than what they are made from, much
/// arithmetic, and whatever fails, so that running it says why. Repeated elements stay repeated
/// elements: no bytes are made for them. `inferred` is what ops::Infer says of the node and these
/// inputs.
std::optional<std::vector<Constant>> FoldNode(
    const ir::Node& node, const std::vector<std::shared_ptr<const Constant>>& inputs,
    const ops::Inferred& inferred);

/// Where `node` is Shape or Size of a concrete shape, makes its output a constant: these read no
/// data.
bool FoldShape(ir::Graph& graph, const ir::Node& node);
/// FoldNode of a node of `graph` whose inputs are constants; makes its outputs constants.
bool FoldData(ir::Graph& graph, const ir::Node& node, const ops::Inferred& inferred);

}  // namespace fettle::passes
