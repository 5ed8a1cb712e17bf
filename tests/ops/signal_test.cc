// The transform that oracles of spectra use, against the sum of its definition.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "ops/signal/transform.h"

namespace fettle::ops {
namespace {

using Complex = std::complex<double>;

std::vector<Complex> SomeSignal(int64_t n) {
  std::vector<Complex> signal;
  for (int64_t k = 0; k < n; ++k) {
    const auto at = static_cast<double>(k);
    signal.emplace_back(std::sin(at * at + 1), std::cos(3 * at + 0.1 * at * at));
  }
  return signal;
}

/// Bin `k` of the definition.
Complex Sum(const std::vector<Complex>& x, int64_t k, double sign) {
  const auto n = static_cast<int64_t>(x.size());
  Complex sum = 0;
  for (int64_t j = 0; j < n; ++j) {
    const double turn = static_cast<double>(j * k % n) / static_cast<double>(n);
    sum += x[j] * std::polar(1.0, sign * 2 * std::numbers::pi * turn);
  }
  return sum;
}

TEST(SignalTransformTest, AgreesWithTheDirectSum) {
  // Direct, split by small and large factors, and by a chirp, alone and within a split.
  for (int64_t n : {1, 2, 127, 128, 129, 131, 254, 262, 1000, 1024, 2187, 127 * 2, 131 * 3, 1009}) {
    const std::vector<Complex> x = SomeSignal(n);
    for (double sign : {-1.0, 1.0}) {
      const std::vector<Complex> y = Transform(x, sign);
      ASSERT_EQ(y.size(), x.size());
      for (int64_t k = 0; k < n; ++k) {
        EXPECT_LT(std::abs(y[k] - Sum(x, k, sign)), 1e-11 * static_cast<double>(n))
            << "bin " << k << " of " << n;
      }
    }
  }
}

TEST(SignalTransformTest, TakesAMillionNumbers) {
  constexpr int64_t kPrime = 1000003;
  std::vector<Complex> x(kPrime);
  x[5] = {2, 1};  // an impulse: each bin is a root of unity times it
  const std::vector<Complex> y = Transform(x, -1);
  for (int64_t k : {int64_t{0}, int64_t{1}, int64_t{777777}, kPrime - 1})
    EXPECT_LT(std::abs(y[k] - Sum(x, k, -1)), 1e-10) << "bin " << k;
}

}  // namespace
}  // namespace fettle::ops
