// Products by tiles: in registers (registers.cl) and in local memory (local.cl). What their
// parameters may be and how they are launched.
#pragma once

#include "kernels/opencl/gemm/algorithm.h"

namespace fettle::kernels {

/// Parameters TM, TN, VW, K_UNROLL, ROWS_FIRST, LX, LY, FAST_MATH.
std::vector<Tunable> RegisterTunables(const GemmShape& shape, const OpenClFacts& facts);
Status ValidRegisters(const GemmShape& shape, const Params& params, const OpenClFacts& facts);
Params DefaultRegisters(const GemmShape& shape, const OpenClFacts& facts);
GemmSetup SetUpRegisters(const GemmShape& shape, const GemmForms& forms, const Params& params,
                         const OpenClFacts& facts);

/// Whether the work-group sizes LX and LY of `params` can be launched.
Status ValidWorkGroup(const Params& params, const OpenClFacts& facts);
/// {LX, LY, 1}, or zeros.
std::array<size_t, 3> WorkGroupOf(const Params& params);
/// The values of LX and LY: 0 (the driver's choice) and powers of two.
std::vector<Tunable> WorkGroupTunables();

/// Which matrices of the operands each product is of, as the kernels take it.
cl_int4 MatrixMap(const GemmShape& shape);
/// Whether rows of B and C, and those of A where `with_a`, begin at multiples of `width` elements.
/// Processors do not care, and programs are fewer without the question.
bool RowsAligned(const GemmShape& shape, int64_t width, bool with_a);

}  // namespace fettle::kernels
