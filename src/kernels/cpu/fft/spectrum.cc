// compiled: small
#include "kernels/cpu/fft/spectrum.h"

#include <algorithm>

namespace fettle::kernels {
namespace {

/// Longer transforms are computed one at a time: sixteen leave the second-level cache.
constexpr int64_t kLongestSideBySide = 8192;

/// Numbers of each transform that are moved at a time.
constexpr int64_t kBlock = 64;

bool IsHalved(const SpectrumFacts& facts) {
  return facts.length % 2 == 0 && (facts.mirrored || !facts.complex);
}

template <typename T>
typename Fft<T>::Way WayOf(const SpectrumFacts& facts) {
  const int64_t extent = Fft<T>::ExtentFor(facts.length);
  const bool few = facts.transforms < kFftLanes / 2 && extent >= 256;
  return few || extent > kLongestSideBySide ? Fft<T>::Way::kOne : Fft<T>::Way::kSideBySide;
}

}  // namespace

template <typename T>
Spectrum<T>::Spectrum(const SpectrumFacts& facts)
    : facts_(facts),
      halved_(IsHalved(facts)),
      half_(facts.length / 2),
      fft_(halved_ ? half_ : facts.length, WayOf<T>(facts)) {
  if (!halved_) return;
  const RootsOfUnity roots(facts.length);
  turns_.Resize(half_ + 1);
  for (int64_t k = 0; k <= half_; ++k) turns_.Set(k, roots.At(k));
}

template <typename T>
int64_t Spectrum<T>::Place(const SignalPlaces& places, int64_t transform) const {
  return transform / facts_.inners * places.outer + transform % facts_.inners * places.inner;
}

template <typename T>
void Spectrum<T>::Load(const T* x, const T* window, int64_t step, int64_t begin, int64_t end,
                       Planes<T> a) const {
  const int64_t side = fft_.side();
  for (int64_t at = begin; at < end; at += kBlock) {
    const int64_t to = std::min(end, at + kBlock);
    for (int64_t l = 0; l < side; ++l) {
      const int64_t transform = step * side + l;
      const Planes<T> own = a.From(l);
      if (transform >= facts_.transforms) {
        for (int64_t k = at; k < to; ++k) own.re[k * side] = own.im[k * side] = T{0};
      } else if (facts_.mirrored) {
        LoadMirrored(x + Place(facts_.x, transform), at, to, own);
      } else {
        LoadSignal(x + Place(facts_.x, transform), window, at, to, own);
      }
    }
  }
}

template <typename T>
void Spectrum<T>::LoadSignal(const T* x, const T* window, int64_t begin, int64_t end,
                             Planes<T> a) const {
  const int64_t side = fft_.side(), step = facts_.x.step;
  // Of number k of the transform: where its parts lie, and how many samples a number takes.
  const int64_t each = halved_ ? 2 : 1;
  const int64_t whole = std::clamp(facts_.samples / each, begin, end);
  for (int64_t k = begin; k < whole; ++k) {
    const int64_t from = k * each * step;
    a.re[k * side] = x[from];
    a.im[k * side] = halved_ ? x[from + step] : facts_.complex ? x[from + 1] : T{0};
  }
  for (int64_t k = whole; k < end; ++k) {
    a.re[k * side] = k * each < facts_.samples ? x[k * each * step] : T{0};
    a.im[k * side] = T{0};
  }
  if (window == nullptr) return;
  for (int64_t k = begin; k < std::min(end, (facts_.samples + each - 1) / each); ++k) {
    a.re[k * side] *= window[k * each];
    if (!halved_ || 2 * k + 1 < facts_.samples) a.im[k * side] *= window[k * each + each - 1];
  }
}

/// The spectrum of the even samples and i times that of the odd ones; of odd lengths the whole
/// spectrum, whose upper half mirrors the lower one. Where a bin is its own mirror image, its
/// imaginary part does not count.
template <typename T>
void Spectrum<T>::LoadMirrored(const T* x, int64_t begin, int64_t end, Planes<T> a) const {
  const int64_t side = fft_.side(), step = facts_.x.step;
  const auto bin = [&](int64_t k) -> std::complex<T> {
    if (k >= facts_.samples) return T{0};
    return {x[k * step], k == 0 || 2 * k == facts_.length ? T{0} : x[k * step + 1]};
  };
  for (int64_t k = begin; k < end; ++k) {
    std::complex<T> value;
    if (halved_) {
      const std::complex<T> low = bin(k), high = std::conj(bin(half_ - k));
      const std::complex<T> sum = low + high, less = low - high;
      // i e^(2 pi i k / length) times the difference.
      const T c = turns_.re[k], s = -turns_.im[k];
      value = {sum.real() - (s * less.real() + c * less.imag()),
               sum.imag() + (c * less.real() - s * less.imag())};
    } else {
      value = 2 * k <= facts_.length ? bin(k) : std::conj(bin(facts_.length - k));
    }
    a.re[k * side] = value.real();
    a.im[k * side] = value.imag();
  }
}

template <typename T>
Planes<T> Spectrum<T>::Run(Planes<T> a, Planes<T> b, Planes<T> work, FftShareOut share) const {
  // A halved real signal is transformed forward either way: its inverse is the conjugate.
  if (!facts_.inverse || (halved_ && !facts_.mirrored)) return fft_.Run(a, b, work, share);
  return fft_.Run(a.Swapped(), b.Swapped(), work, share).Swapped();
}

template <typename T>
void Spectrum<T>::Store(Planes<T> a, int64_t step, int64_t begin, int64_t end, T* y) const {
  const int64_t side = fft_.side(), apart = facts_.y.step;
  const T scale = facts_.inverse ? T{1} / static_cast<T>(facts_.length) : T{1};
  for (int64_t at = begin; at < end; at += kBlock) {
    const int64_t to = std::min(end, at + kBlock);
    for (int64_t l = 0; l < side && step * side + l < facts_.transforms; ++l) {
      T* out = y + Place(facts_.y, step * side + l);
      const Planes<T> own = a.From(l);
      if (halved_ && !facts_.mirrored) {
        StoreHalved(own, at, to, out);
      } else if (halved_) {
        for (int64_t k = at; k < to; ++k)
          out[k * apart] = (k % 2 == 0 ? own.re : own.im)[k / 2 * side] * scale;
      } else {
        for (int64_t k = at; k < to; ++k) {
          out[k * apart] = own.re[k * side] * scale;
          if (!facts_.mirrored) out[k * apart + 1] = own.im[k * side] * scale;
        }
      }
    }
  }
}

/// Bins of a real signal from the transform z of its even samples and i times the odd ones, and
/// their mirror images where those are wanted.
template <typename T>
void Spectrum<T>::StoreHalved(Planes<T> a, int64_t begin, int64_t end, T* y) const {
  const int64_t side = fft_.side(), apart = facts_.y.step;
  const T scale = T(0.5) * (facts_.inverse ? T{1} / static_cast<T>(facts_.length) : T{1});
  const T sign = facts_.inverse ? -scale : scale;
  for (int64_t k = begin; k < end; ++k) {
    const int64_t low = k == half_ ? 0 : k * side, high = k == 0 ? 0 : (half_ - k) * side;
    const T even_re = a.re[low] + a.re[high], even_im = a.im[low] - a.im[high];
    // -i (z - conj z'), times e^(-2 pi i k / length).
    const T odd_re = a.im[low] + a.im[high], odd_im = a.re[high] - a.re[low];
    const T c = turns_.re[k], s = turns_.im[k];
    const T re = even_re + c * odd_re - s * odd_im, im = even_im + c * odd_im + s * odd_re;
    y[k * apart] = re * scale;
    y[k * apart + 1] = im * sign;
    const int64_t mirror = facts_.length - k;
    if (k == 0 || mirror == k || mirror >= facts_.bins) continue;
    y[mirror * apart] = re * scale;
    y[mirror * apart + 1] = -im * sign;
  }
}

template class Spectrum<float>;
template class Spectrum<double>;

}  // namespace fettle::kernels
