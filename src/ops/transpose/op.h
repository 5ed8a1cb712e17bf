// Transpose: its permutation, as kernels read it.
#pragma once

#include <vector>

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::ops {

/// Output axis i is input axis perm[i]; without the attribute the axes are reversed. Fails with
/// kInvalidModel where 'perm' is no permutation of `rank` axes.
Result<std::vector<int>> ReadPermutation(const ir::Node& node, int rank);

}  // namespace fettle::ops
