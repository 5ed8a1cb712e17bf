// Products with one row or one column: what their lanes may be.
#pragma once

#include "kernels/opencl/gemm/algorithm.h"

namespace fettle::kernels {

/// Whether LANES work-items may share a group.
Status ValidLanes(const GemmShape& shape, const Params& params, const OpenClFacts& facts);

}  // namespace fettle::kernels
