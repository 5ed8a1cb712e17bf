// Caches that grow as caches with room for all tokens.
#pragma once

#include "language/onnx/onnx_form.h"

namespace fettle::language {

/// Where caches are joined to new rows and read by attention in the order of tokens, these become
/// GroupQueryAttention with caches of `context` rows: form.in_place. form.last says then which row
/// is the last, form.mask is gone, and every run of one number of tokens has the same shapes.
/// Elsewhere nothing changes. Fails as passes do.
Status KeepCachesInPlace(ir::Graph& graph, OnnxForm& form, int64_t context);

}  // namespace fettle::language
