// Products with one row or one column: what the parameters of vector_rows.cl and vector_columns.cl
// may be and how they are launched.
#pragma once

#include "kernels/opencl/gemm/rung.h"

namespace fettle::kernels {

/// kColumn: n is 1 (vector_rows.cl on A and B). kRow: m is 1 (vector_columns.cl on A and B).
/// kRowOfTransposed: m is 1 and B is [n, k] (vector_rows.cl on B and A).
enum class VectorKind : uint8_t { kColumn, kRow, kRowOfTransposed };

/// Parameters LANES and VW.
std::vector<Tunable> VectorTunables(const GemmShape& shape, const OpenClFacts& facts);
Status ValidLanes(const GemmShape& shape, const Params& params, const OpenClFacts& facts);
Params DefaultVector(const GemmShape& shape, const OpenClFacts& facts);
/// The map of matrices is of A and B in this order; kRowOfTransposed wants it of B and A.
GemmSetup SetUpVector(const GemmShape& shape, const Params& params, VectorKind kind,
                      const OpenClFacts& facts);

}  // namespace fettle::kernels
