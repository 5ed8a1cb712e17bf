// The range of floats that are to be quantised.
#pragma once

#include <cstdint>
#include <utility>

namespace fettle::kernels {

/// The least and the greatest number of `x` with zero among them; NaN is none.
std::pair<float, float> RangeOfNumbers(const float* x, int64_t n);

}  // namespace fettle::kernels
