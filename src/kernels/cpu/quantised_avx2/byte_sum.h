// The sum of a run of bytes by vectors of AVX2.
#pragma once

#include <cstdint>

namespace fettle::kernels {

/// The sum of `count` bytes, each flipped by `flip` (0x80: i8 plus 128); fewer than 2^24 of them.
/// Reads nothing else. Only where RunsAvx2().
int32_t SumBytesAvx2(const uint8_t* x, int64_t count, uint8_t flip);

}  // namespace fettle::kernels
