// A run of windows of a pooling with positions, tap by tap.
#pragma once

#include <cstdint>

namespace fettle::kernels {

/// best[i] and taps[i] become x[i * stride] and `tap` where that is greater, or everywhere where
/// the tap is the first.
void TakeGreater(const float* x, int64_t stride, int64_t n, int32_t tap, bool first, float* best,
                 int32_t* taps);

}  // namespace fettle::kernels
