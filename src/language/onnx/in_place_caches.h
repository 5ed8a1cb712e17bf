// Replaces caches that grow by caches with room for all tokens.
#pragma once

#include "language/onnx/onnx_form.h"

namespace fettle::language {

/// Where caches are joined to new rows and read by attention in the order of tokens, these become
/// GroupQueryAttention with caches of `context` rows: form.in_place. form.last then says which row
/// is the last, form.mask is removed, and all runs of one number of tokens have the same shapes.
/// Other graphs do not change. Fails as passes do.
Status KeepCachesInPlace(ir::Graph& graph, OnnxForm& form, int64_t context);

}  // namespace fettle::language
