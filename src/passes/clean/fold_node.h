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
/// absent). Nothing where it must stay a node: random and control operators, DequantizeLinear (an
/// annotation that kernels read), results much larger than their operands, much arithmetic, and any
/// node that fails, so that running it gives the reason. Repeated elements stay repeated and take
/// no bytes. `inferred`: the result of ops::Infer for the node and these inputs.
std::optional<std::vector<Constant>> FoldNode(
    const ir::Node& node, const std::vector<std::shared_ptr<const Constant>>& inputs,
    const ops::Inferred& inferred);

/// Makes the output of a Shape or Size of a concrete shape a constant: these read no data.
bool FoldShape(ir::Graph& graph, const ir::Node& node);
/// FoldNode for a node of `graph` whose inputs are constants; makes its outputs constants.
bool FoldData(ir::Graph& graph, const ir::Node& node, const ops::Inferred& inferred);

}  // namespace fettle::passes
