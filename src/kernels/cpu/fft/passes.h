// The passes of fast Fourier transforms, over sixteen of them side by side.
#pragma once

#include <cstdint>
#include <span>

namespace fettle::kernels {

/// Transforms side by side: number k of transform l is element k * kFftLanes + l of a plane.
inline constexpr int64_t kFftLanes = 16;

/// Complex numbers: their real and their imaginary parts, each in an array of its own.
template <typename T>
struct Planes {
  T* re = nullptr;
  T* im = nullptr;

  /// Behind the first `n` numbers.
  Planes From(int64_t n) const { return {re + n, im + n}; }
  /// The numbers with their parts exchanged: the inverse transform is the forward one between two
  /// of these exchanges.
  Planes Swapped() const { return {im, re}; }
};

/// One pass of Stockham's form, by which the results come in order: x, seen as [radix, count,
/// stride], becomes y as [count, radix, stride], transformed along `radix` and turned by
/// twiddles[count][radix - 1] pairs (re, im), e^(-2 pi i p k / (radix count)) for p and k >= 1.
template <typename T>
struct FftPass {
  int radix = 2;  // 2, 3, 4, 5 or 7
  int64_t count = 1, stride = 1;
  const T* twiddles = nullptr;
};

/// Runs the passes from `a` to `b` and back; returns which of both has the results.
Planes<float> RunPasses(std::span<const FftPass<float>> passes, Planes<float> a, Planes<float> b);
Planes<double> RunPasses(std::span<const FftPass<double>> passes, Planes<double> a,
                         Planes<double> b);

/// y = x f for `n` complex numbers; y may be x.
void MultiplyComplex(Planes<const float> x, Planes<const float> f, int64_t n, Planes<float> y);
void MultiplyComplex(Planes<const double> x, Planes<const double> f, int64_t n, Planes<double> y);

/// Rows of `lanes` complex numbers, each times f's number in its place (one row behind the other;
/// absent: 1) and times s[row]. Rows of x lie kFftLanes numbers apart, those of y y_stride; y may
/// be x.
template <typename T>
struct TurnRows {
  Planes<const T> x, f, s;
  int64_t rows = 0, lanes = kFftLanes, y_stride = kFftLanes;
  Planes<T> y;
};
void Turn(const TurnRows<float>& rows);
void Turn(const TurnRows<double>& rows);

}  // namespace fettle::kernels
