// The discrete Fourier transform that oracles use: in double, of any length.
#pragma once

#include <complex>
#include <vector>

namespace fettle::ops {

/// Up to this length the transform is the sum of its definition.
inline constexpr int64_t kLongestDirectSum = 128;

/// X_k = sum_j x_j e^(sign 2 pi i j k / n) for n = x.size() >= 1; `sign` is 1 or -1.
std::vector<std::complex<double>> Transform(const std::vector<std::complex<double>>& x,
                                            double sign);

}  // namespace fettle::ops
