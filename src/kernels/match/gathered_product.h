// Products of single rows by matrices that indices choose.
#pragma once

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::kernels {

/// y[t][n], the sum over k of x[t][k] * w[i[t]][n][k] (`by_rows`) or of x[t][k] * w[i[t]][k][n].
struct GatheredProduct {
  ir::ValueId w = ir::kAbsent, indices = ir::kAbsent, x = ir::kAbsent;
  int64_t tokens = 0, matrices = 0, depth = 0, results = 0;
  bool by_rows = false;  // sums run along rows of the matrices
};

/// Gather of whole matrices, then MatMul of each by one row or column; floats of one type.
Result<GatheredProduct> ReadGatheredProduct(const ir::Graph& group);

}  // namespace fettle::kernels
