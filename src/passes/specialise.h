// Making a graph concrete: shapes, types and values that follow from the shapes of its inputs.
#pragma once

#include <vector>

#include "base/status.h"
#include "ir/graph.h"
#include "passes/clean/forward_sweep.h"
#include "passes/pass_history.h"
#include "passes/pipeline.h"

namespace fettle::passes {

/// Makes the graph ready for one set of input shapes: folds Shape and what follows from it, inlines
/// If where the condition becomes known, infers types and shapes, and runs all passes again, which
/// now see shapes. The caller sets types and concrete shapes of graph.inputs; an input whose data
/// is known too may have Value::constant set, and counts as a constant.
///
/// Afterwards every value has a type and a concrete shape, except behind control nodes and behind
/// the nodes in `pending` (may be null), whose output shapes depend on the data of the named value.
/// Ids change; those in `pending` are the new ones.
///
/// To go on behind such a node, the caller runs what does not depend on it, makes a graph of the
/// rest with shapes, and the waited-for data, on its inputs, and calls again. Fails where inference
/// refuses a node, with its name.
///
/// `history` (may be null) is that of the same graph for other input shapes: passes that changed
/// none of those near this one are left out.
Status Specialise(ir::Graph& graph, std::vector<Pending>* pending = nullptr,
                  const PipelineOptions& options = {}, PassHistory* history = nullptr);

}  // namespace fettle::passes
