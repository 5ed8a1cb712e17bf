// Products with one row or one column: what their lanes may be.
#pragma once

#include "kernels/opencl/gemm/algorithm.h"

namespace fettle::kernels {

inline constexpr std::initializer_list<int64_t> kLaneCounts{1, 2, 4, 8, 16, 32, 64, 128, 256};
/// The usual of them, and whether so many work-items may share a group.
int64_t UsualLanes(const OpenClFacts& facts);
Status CheckLanes(int64_t lanes, const OpenClFacts& facts);

}  // namespace fettle::kernels
