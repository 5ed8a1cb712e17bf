// Between signals and spectra in memory and the complex numbers that a transform works on.
#pragma once

#include <vector>

#include "kernels/cpu/fft/fft.h"
#include "kernels/match/spectrum.h"

namespace fettle::kernels {

/// The transforms of one problem. Even lengths between real and complex numbers are transformed as
/// half as many complex ones (Sorensen and others, Real-valued fast Fourier transform algorithms,
/// IEEE Trans. ASSP 35, 1987). Immutable.
template <typename T>
class Spectrum {
 public:
  explicit Spectrum(const SpectrumFacts& facts);

  const Fft<T>& fft() const { return fft_; }
  /// Transforms in steps of fft().side(); the last step may have fewer.
  int64_t steps() const { return (facts_.transforms + fft_.side() - 1) / fft_.side(); }
  /// Numbers to load and to store, for each transform.
  int64_t loads() const { return fft_.length(); }
  int64_t stores() const { return halved_ && !facts_.mirrored ? half_ + 1 : facts_.bins; }

  /// Fills numbers [begin, end) of the transforms of a step, as Fft::Run takes them, from the
  /// input; each sample times that of `window`, where there is one.
  void Load(const T* x, const T* window, int64_t step, int64_t begin, int64_t end,
            Planes<T> a) const;
  /// Fft::Run in the direction of the operator.
  Planes<T> Run(Planes<T> a, Planes<T> b, Planes<T> work, FftShareOut share) const;
  /// Writes what numbers [begin, end) of stores() come to.
  void Store(Planes<T> a, int64_t step, int64_t begin, int64_t end, T* y) const;

 private:
  void LoadSignal(const T* x, const T* window, int64_t begin, int64_t end, Planes<T> a) const;
  void LoadMirrored(const T* x, int64_t begin, int64_t end, Planes<T> a) const;
  void StoreHalved(Planes<T> a, int64_t begin, int64_t end, T* y) const;
  int64_t Place(const SignalPlaces& places, int64_t transform) const;

  SpectrumFacts facts_;
  bool halved_;
  int64_t half_;
  Fft<T> fft_;
  PlaneVector<T> turns_;  // e^(-2 pi i k / length), k up to half of it, where halved
};

extern template class Spectrum<float>;
extern template class Spectrum<double>;

}  // namespace fettle::kernels
