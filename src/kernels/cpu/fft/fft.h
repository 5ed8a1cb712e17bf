// The discrete Fourier transform of any length, forward and not normalised.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

#include "device/cpu/thread_pool.h"
#include "kernels/cpu/fft/passes.h"

namespace fettle::kernels {

/// e^(-2 pi i k / n), computed in double.
class RootsOfUnity {
 public:
  explicit RootsOfUnity(int64_t n);
  /// `k` in [0, n).
  std::complex<double> At(int64_t k) const { return coarse_[k / step_] * fine_[k % step_]; }

 private:
  int64_t step_;
  std::vector<std::complex<double>> coarse_, fine_;
};

/// Complex numbers that a plan keeps.
template <typename T>
struct PlaneVector {
  std::vector<T> re, im;

  void Resize(int64_t n) {
    re.resize(n);
    im.resize(n);
  }
  void Set(int64_t i, std::complex<double> value) {
    re[i] = static_cast<T>(value.real());
    im[i] = static_cast<T>(value.imag());
  }
  Planes<const T> From(int64_t i) const { return {re.data() + i, im.data() + i}; }
};

/// Calls work(task, lane) for all tasks; at the same time only with different lanes.
using FftWork = FunctionRef<void(int64_t task, int lane)>;
using FftShareOut = FunctionRef<void(int64_t tasks, FftWork work)>;

/// A plan for one length. Lengths of the factors 2, 3, 5 and 7 are transformed as they are, others
/// as a convolution with a chirp (Bluestein, A linear filtering approach to the computation of
/// discrete Fourier transform, IEEE Trans. AU 18, 1970). Immutable.
template <typename T>
class Fft {
 public:
  /// kFftLanes transforms at a time, side by side; or one, whose columns and rows are transformed
  /// side by side (Bailey, FFTs in external or hierarchical memory, J. Supercomputing 4, 1990).
  enum class Way { kSideBySide, kOne };
  Fft(int64_t n, Way way);

  int64_t length() const { return n_; }
  /// Transforms at a time.
  int64_t side() const { return side_; }
  /// Numbers of a plane for one transform: n or more.
  int64_t extent() const { return extent_; }
  /// Numbers of the planes that each lane works in.
  int64_t work_numbers() const { return work_; }

  /// Transforms side() signals: number k of signal l is k * side() + l. `a` has the signals and
  /// extent() * side() numbers, as `b`; `work` has work_numbers() for each lane of `share`. Returns
  /// which of a and b has the results.
  Planes<T> Run(Planes<T> a, Planes<T> b, Planes<T> work, FftShareOut share) const;

  /// Of a plan for `n`.
  static int64_t ExtentFor(int64_t n);

 private:
  /// A transform in passes.
  struct Passes {
    std::vector<FftPass<T>> passes;
    std::vector<T> twiddles;

    void Plan(int64_t n);
  };

  void PlanGrid(int64_t rows);
  void PlanChirp();
  Planes<T> RunSmooth(Planes<T> a, Planes<T> b, Planes<T> work, FftShareOut share) const;
  void RunColumns(int64_t chunk, Planes<T> a, Planes<T> b, Planes<T> work) const;
  void RunRows(int64_t chunk, Planes<T> b, Planes<T> a, Planes<T> work) const;
  void Multiply(Planes<T> x, const PlaneVector<T>& factors, int64_t n, FftShareOut share) const;

  int64_t n_, extent_, side_ = kFftLanes, work_ = 0;
  int64_t rows_ = 1, columns_ = 1;  // of one transform's grid: extent_ numbers
  Passes along_columns_, along_rows_;
  PlaneVector<T> steps_;  // [rows, kFftLanes]: the grid's twiddles from the first one of a chunk on
  PlaneVector<T> bases_;  // [chunk of columns, rows]: that first one
  PlaneVector<T> chirp_, filter_;  // empty where no chirp is needed
};

extern template class Fft<float>;
extern template class Fft<double>;

}  // namespace fettle::kernels
