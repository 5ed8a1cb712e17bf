// Values of a decoder's graph that follow from the number of tokens.
#pragma once

#include <span>
#include <string>

#include "language/onnx/length_probe.h"

namespace fettle::language {

/// Lets what `outputs` need follow from positions and the new tokens in the place of the mask and
/// the extents of caches: positions themselves, the first of them, how many tokens there are and
/// how many are new. Those of `given` depend on neither. `graph` has the ids of the probes, and
/// more; form.positions is added where the model has none. False, and a graph that is not to be
/// used, where something else is needed.
Result<bool> FollowPositions(ir::Graph& graph, OnnxForm& form, std::span<const LengthProbe> probes,
                             std::span<const ir::ValueId> outputs,
                             std::span<const ir::ValueId> given);

/// A node of the graph, with one output more than it has values.
ir::ValueId AddNode(ir::Graph& graph, std::string_view op, std::vector<ir::ValueId> inputs,
                    ir::Attributes attributes = {});
ir::ValueId AddInts(ir::Graph& graph, const std::vector<int64_t>& values);

}  // namespace fettle::language
