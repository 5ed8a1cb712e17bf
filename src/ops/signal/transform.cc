// Direct sums for short lengths; longer ones are split by their smallest prime factor (Cooley and
// Tukey, An algorithm for the machine calculation of complex Fourier series, 1965), and lengths
// with large ones are convolutions with a chirp (Bluestein, 1970) of twice the length or more.
#include "ops/signal/transform.h"

#include <cmath>
#include <cstdint>
#include <numbers>

namespace fettle::ops {
namespace {

using Complex = std::complex<double>;
using Signal = std::vector<Complex>;

/// exp(sign 2 pi i k / n) for k in [0, n).
Signal Roots(int64_t n, double sign) {
  Signal roots;
  for (int64_t k = 0; k < n; ++k) {
    roots.push_back(std::polar(
        1.0, sign * 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n)));
  }
  return roots;
}

Signal DirectSums(const Signal& x, double sign) {
  const auto n = static_cast<int64_t>(x.size());
  const Signal roots = Roots(n, sign);
  Signal y(n);
  for (int64_t k = 0; k < n; ++k) {
    for (int64_t j = 0; j < n; ++j) y[k] += x[j] * roots[j * k % n];
  }
  return y;
}

int64_t SmallestFactor(int64_t n) {
  for (int64_t factor = 2; factor * factor <= n; ++factor) {
    if (n % factor == 0) return factor;
  }
  return n;
}

/// Every factor-th number makes a signal of its own; their transforms are summed up.
Signal Split(const Signal& x, int64_t factor, double sign) {
  const auto n = static_cast<int64_t>(x.size());
  const int64_t part = n / factor;
  const Signal roots = Roots(n, sign);
  Signal y(n);
  for (int64_t r = 0; r < factor; ++r) {
    Signal some(part);
    for (int64_t j = 0; j < part; ++j) some[j] = x[j * factor + r];
    const Signal spectrum = Transform(some, sign);
    for (int64_t k = 0; k < n; ++k) y[k] += spectrum[k % part] * roots[r * k % n];
  }
  return y;
}

Signal ByChirp(const Signal& x, double sign) {
  const auto n = static_cast<int64_t>(x.size());
  int64_t padded = 1;
  while (padded < 2 * n - 1) padded *= 2;
  const Signal roots = Roots(2 * n, sign);
  Signal turned(padded), mirrored(padded);
  for (int64_t k = 0; k < n; ++k) {
    const Complex chirp = roots[k * k % (2 * n)];
    turned[k] = x[k] * chirp;
    mirrored[k] = mirrored[(padded - k) % padded] = std::conj(chirp);
  }
  Signal product = Transform(turned, -1);
  const Signal filter = Transform(mirrored, -1);
  for (int64_t k = 0; k < padded; ++k) product[k] *= filter[k] / static_cast<double>(padded);
  Signal y = Transform(product, 1);
  y.resize(n);
  for (int64_t k = 0; k < n; ++k) y[k] *= roots[k * k % (2 * n)];
  return y;
}

}  // namespace

Signal Transform(const Signal& x, double sign) {
  const auto n = static_cast<int64_t>(x.size());
  if (n <= kLongestDirectSum) return DirectSums(x, sign);
  const int64_t factor = SmallestFactor(n);
  return factor <= kLongestDirectSum ? Split(x, factor, sign) : ByChirp(x, sign);
}

}  // namespace fettle::ops
