// Int8 dot products in registers, one file per instruction set.
#pragma once

#include <cstdint>

namespace fettle::kernels {

/// Operations (two per multiply-add) done in `rounds` rounds of independent dot products. Call only
/// where CpuInfo has the instruction set.
double RunDotAvx512Vnni(int64_t rounds, int32_t* sink);
double RunDotAmx(int64_t rounds);

}  // namespace fettle::kernels
