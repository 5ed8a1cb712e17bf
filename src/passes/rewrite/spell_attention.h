// Attention as products, a Softmax and what stands between them.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::passes {

/// Attention becomes the nodes that it stands for, as older exporters write them, so that their
/// kernels, groups and layouts serve it. Needs known shapes; nodes whose scores are an output, or
/// whose mask is shorter than the keys, stay. True if anything changed.
Result<bool> SpellAttention(ir::Graph& graph);

}  // namespace fettle::passes
