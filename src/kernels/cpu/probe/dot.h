// Dot products of bytes and of bf16 in registers, one file per instruction set.
#pragma once

#include <cstdint>

namespace fettle::kernels {

/// Operations (two per multiply-add) done in `rounds` rounds of independent dot products. Call only
/// where CpuInfo has the instruction set.
double RunDotAvx512Vnni(int64_t rounds, int32_t* sink);
double RunDotAmx(int64_t rounds);
double RunDotAvx512Bf16(int64_t rounds, float* sink);
double RunDotAmxBf16(int64_t rounds);

}  // namespace fettle::kernels
