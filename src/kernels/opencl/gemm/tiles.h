// Products by tiles: in registers (registers.cl) and in local memory (local.cl). What their
// parameters may be and how they are launched.
#pragma once

#include "kernels/opencl/gemm/algorithm.h"

namespace fettle::kernels {

/// The values of LX and LY: 0 (the driver's choice) and powers of two.
inline constexpr std::initializer_list<int64_t> kGemmGroup{0, 1, 2, 4, 8, 16, 32, 64};

/// What a work-item computes, tm rows of tn vectors of vw columns, and the work-group.
struct RegisterTile {
  int64_t tm = 1, tn = 1, vw = 1, k_unroll = 1, rows_first = 0, lx = 0, ly = 0;
  int64_t fast_math = 0;  // built with -cl-fast-relaxed-math
};
inline constexpr Fields kRegisterFields(
    "gemm/registers.cl", Field{"TM", &RegisterTile::tm, {1, 2, 3, 4, 6, 8, 12}, "TM"},
    Field{"TN", &RegisterTile::tn, {1, 2, 3, 4}, "TN"},
    Field{"VW", &RegisterTile::vw, {1, 2, 4, 8, 16}, "VW"},
    Field{"K_UNROLL", &RegisterTile::k_unroll, {1, 2, 4}, "K_UNROLL"},
    Field{"ROWS_FIRST", &RegisterTile::rows_first, {0, 1}, "ROWS_FIRST"},
    Field{"LX", &RegisterTile::lx, kGemmGroup}, Field{"LY", &RegisterTile::ly, kGemmGroup},
    Field{"FAST_MATH", &RegisterTile::fast_math, {0, 1}});
RegisterTile UsualRegisters(const GemmShape& shape, const OpenClFacts& facts);
Status CheckRegisters(const GemmShape& shape, const RegisterTile& tile, const OpenClFacts& facts);
GemmSetup SetUpRegisters(const GemmShape& shape, const GemmForms& forms, const RegisterTile& tile,
                         const OpenClFacts& facts);

/// Whether a work-group of lx times ly items can be launched.
Status CheckGemmGroup(int64_t lx, int64_t ly, const OpenClFacts& facts);
/// {lx, ly, 1}, or zeros.
inline std::array<size_t, 3> GemmGroup(int64_t lx, int64_t ly) {
  return {static_cast<size_t>(lx), static_cast<size_t>(ly), lx == 0 ? size_t{0} : size_t{1}};
}

/// Which matrices of the operands each product is of, as the kernels take it.
cl_int4 MatrixMap(const GemmShape& shape);
/// Whether rows of B and C, and those of A where `with_a`, begin at multiples of `width` elements.
/// Processors do not care, and programs are fewer without the question.
bool RowsAligned(const GemmShape& shape, int64_t width, bool with_a);

}  // namespace fettle::kernels
