// Caches of several sequences in one memory.
#pragma once

#include "language/onnx/onnx_form.h"

namespace fettle::language {

/// Where caches are written in place and a graph takes several sequences at once, each
/// GroupQueryAttention is told which cache each of them has: the new input form.cache_of [batch].
/// Caches are [count, heads, context, size] then. Elsewhere nothing changes.
Status ShareCaches(ir::Graph& graph, OnnxForm& form, int64_t context, int64_t count);

}  // namespace fettle::language
