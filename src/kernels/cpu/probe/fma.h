// The ceiling of fp32 arithmetic on one core.
#pragma once

namespace fettle::kernels {

/// Multiply-adds per second, times two, of independent fused multiply-adds in registers on this
/// thread: the best of some runs that take about `milliseconds` in all.
double ProbeFmaFlops(double milliseconds = 20);

}  // namespace fettle::kernels
