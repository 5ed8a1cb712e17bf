// Division of indices by multiplication.
#pragma once

#include <bit>
#include <cstdint>

#include "kernels/opencl/launch.h"

namespace fettle::kernels {

/// Of 0 <= a < 2^31 the quotient is the high word of a * factor, shifted by `shift` (Granlund and
/// Montgomery, "Division by Invariant Integers using Multiplication", 1994, with N = 31).
struct Divisor {
  uint32_t factor;
  int shift;
};

/// 1 < divisor < 2^31.
inline Divisor DivisorOf(int64_t divisor) {
  const int bits = static_cast<int>(std::bit_width(static_cast<uint64_t>(divisor - 1)));
  return {static_cast<uint32_t>(DivideUp(int64_t{1} << (31 + bits), divisor)), bits - 1};
}

}  // namespace fettle::kernels
