// compiled: small
#include "kernels/cpu/fft/fft.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/check.h"
#include "kernels/cpu/zeros.h"

namespace fettle::kernels {
namespace {

/// Numbers that a task multiplies.
constexpr int64_t kChunk = 32 << 10;

/// What is left of `n` without the factors that passes have.
int64_t RoughPart(int64_t n) {
  for (int64_t factor : {2, 3, 5, 7}) {
    while (n % factor == 0) n /= factor;
  }
  return n;
}

/// The divisor of `n` that is next to its square root from below.
int64_t DivisorNextToRoot(int64_t n) {
  auto divisor = static_cast<int64_t>(std::sqrt(static_cast<double>(n)));
  while (divisor > 1 && n % divisor != 0) --divisor;
  return std::max<int64_t>(divisor, 1);
}

}  // namespace

RootsOfUnity::RootsOfUnity(int64_t n)
    : step_(std::max<int64_t>(1, static_cast<int64_t>(std::sqrt(static_cast<double>(n))))) {
  const auto root = [n](int64_t k) {
    return std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n));
  };
  for (int64_t k = 0; k < step_; ++k) fine_.push_back(root(k));
  for (int64_t k = 0; k < n; k += step_) coarse_.push_back(root(k));
}

template <typename T>
void Fft<T>::Passes::Plan(int64_t n) {
  const RootsOfUnity roots(n);
  int64_t left = n;
  while (left > 1) {
    FftPass<T> pass;
    for (int radix : {4, 2, 3, 5, 7}) {
      if (left % radix == 0) {
        pass.radix = radix;
        break;
      }
    }
    pass.stride = n / left;
    pass.count = left / pass.radix;
    for (int64_t p = 0; p < pass.count; ++p) {
      for (int64_t k = 1; k < pass.radix; ++k) {
        const std::complex<double> turn = roots.At(p * k * pass.stride % n);
        twiddles.push_back(static_cast<T>(turn.real()));
        twiddles.push_back(static_cast<T>(turn.imag()));
      }
    }
    left = pass.count;
    passes.push_back(pass);
  }
  int64_t at = 0;
  for (FftPass<T>& pass : passes) {
    pass.twiddles = twiddles.data() + at;
    at += 2 * pass.count * (pass.radix - 1);
  }
}

template <typename T>
int64_t Fft<T>::ExtentFor(int64_t n) {
  if (RoughPart(n) == 1) return n;
  int64_t best = 0;
  for (int64_t odd : {1, 3, 5}) {
    int64_t extent = odd;
    while (extent < 2 * n - 1) extent *= 2;
    if (best == 0 || extent < best) best = extent;
  }
  return best;
}

template <typename T>
Fft<T>::Fft(int64_t n, Way way) : n_(n), extent_(ExtentFor(n)) {
  const int64_t rows = way == Way::kOne ? DivisorNextToRoot(extent_) : 1;
  if (rows > 1) {
    PlanGrid(rows);
  } else {
    along_columns_.Plan(extent_);
    rows_ = extent_;
  }
  if (extent_ != n_) PlanChirp();
}

template <typename T>
void Fft<T>::PlanGrid(int64_t rows) {
  side_ = 1;
  rows_ = rows;
  columns_ = extent_ / rows;
  along_columns_.Plan(rows_);
  along_rows_.Plan(columns_);
  work_ = 2 * kFftLanes * std::max(rows_, columns_);
  const RootsOfUnity roots(extent_);
  steps_.Resize(rows_ * kFftLanes);
  for (int64_t i = 0; i < rows_ * kFftLanes; ++i)
    steps_.Set(i, roots.At(i / kFftLanes * (i % kFftLanes) % extent_));
  const int64_t chunks = (columns_ + kFftLanes - 1) / kFftLanes;
  bases_.Resize(chunks * rows_);
  for (int64_t i = 0; i < chunks * rows_; ++i)
    bases_.Set(i, roots.At(i / rows_ * kFftLanes * (i % rows_) % extent_));
}

/// X_k = w_k sum_j (x_j w_j) conj(w_(k - j)) with w_k = e^(-pi i k^2 / n).
template <typename T>
void Fft<T>::PlanChirp() {
  const RootsOfUnity roots(2 * n_);
  chirp_.Resize(n_);
  PlaneVector<double> mirrored, other, work;
  mirrored.Resize(extent_);
  other.Resize(extent_);
  for (int64_t k = 0; k < n_; ++k) {
    const std::complex<double> w = roots.At(k * k % (2 * n_));
    chirp_.Set(k, w);
    mirrored.Set(k, std::conj(w) / static_cast<double>(extent_));
    if (k > 0) mirrored.Set(extent_ - k, std::conj(w) / static_cast<double>(extent_));
  }
  const Fft<double> plan(extent_, Fft<double>::Way::kOne);
  FETTLE_CHECK(plan.side() == 1, "padded lengths have a grid");
  work.Resize(plan.work_numbers());
  const auto planes = [](PlaneVector<double>& v) {
    return Planes<double>{v.re.data(), v.im.data()};
  };
  const Planes<double> spectrum =
      plan.Run(planes(mirrored), planes(other), planes(work), [](int64_t tasks, FftWork task) {
        for (int64_t i = 0; i < tasks; ++i) task(i, 0);
      });
  filter_.Resize(extent_);
  for (int64_t k = 0; k < extent_; ++k) filter_.Set(k, {spectrum.re[k], spectrum.im[k]});
}

template <typename T>
void Fft<T>::RunColumns(int64_t chunk, Planes<T> a, Planes<T> b, Planes<T> work) const {
  const int64_t first = chunk * kFftLanes, lanes = std::min(kFftLanes, columns_ - first);
  for (int64_t k = 0; k < rows_; ++k) {
    const Planes<T> from = a.From(k * columns_ + first), to = work.From(k * kFftLanes);
    std::fill(std::copy_n(from.re, lanes, to.re), to.re + kFftLanes, T{0});
    std::fill(std::copy_n(from.im, lanes, to.im), to.im + kFftLanes, T{0});
  }
  const Planes<T> y =
      RunPasses(along_columns_.passes, work, work.From(kFftLanes * std::max(rows_, columns_)));
  Turn(TurnRows<T>{.x = {y.re, y.im},
                   .f = steps_.From(0),
                   .s = bases_.From(chunk * rows_),
                   .rows = rows_,
                   .lanes = lanes,
                   .y_stride = columns_,
                   .y = b.From(first)});
}

template <typename T>
void Fft<T>::RunRows(int64_t chunk, Planes<T> b, Planes<T> a, Planes<T> work) const {
  const int64_t first = chunk * kFftLanes, lanes = std::min(kFftLanes, rows_ - first);
  constexpr int64_t kBlock = 16;
  for (int64_t begin = 0; begin < columns_; begin += kBlock) {
    const int64_t end = std::min(columns_, begin + kBlock);
    for (int64_t l = 0; l < kFftLanes; ++l) {
      const Planes<T> from = b.From((first + std::min(l, lanes - 1)) * columns_);
      for (int64_t j = begin; j < end; ++j) {
        work.re[j * kFftLanes + l] = from.re[j];
        work.im[j * kFftLanes + l] = from.im[j];
      }
    }
  }
  const Planes<T> y =
      RunPasses(along_rows_.passes, work, work.From(kFftLanes * std::max(rows_, columns_)));
  for (int64_t k = 0; k < columns_; ++k) {
    std::copy_n(y.re + k * kFftLanes, lanes, a.re + k * rows_ + first);
    std::copy_n(y.im + k * kFftLanes, lanes, a.im + k * rows_ + first);
  }
}

template <typename T>
Planes<T> Fft<T>::RunSmooth(Planes<T> a, Planes<T> b, Planes<T> work, FftShareOut share) const {
  if (side_ != 1) return RunPasses(along_columns_.passes, a, b);
  share((columns_ + kFftLanes - 1) / kFftLanes,
        [&](int64_t chunk, int lane) { RunColumns(chunk, a, b, work.From(lane * work_)); });
  share((rows_ + kFftLanes - 1) / kFftLanes,
        [&](int64_t chunk, int lane) { RunRows(chunk, b, a, work.From(lane * work_)); });
  return a;
}

template <typename T>
void Fft<T>::Multiply(Planes<T> x, const PlaneVector<T>& factors, int64_t n,
                      FftShareOut share) const {
  if (side_ != 1) {
    Turn(TurnRows<T>{.x = {x.re, x.im}, .f = {}, .s = factors.From(0), .rows = n, .y = x});
    return;
  }
  share((n + kChunk - 1) / kChunk, [&](int64_t chunk, int) {
    const Planes<T> part = x.From(chunk * kChunk);
    MultiplyComplex({part.re, part.im}, factors.From(chunk * kChunk),
                    std::min(kChunk, n - chunk * kChunk), part);
  });
}

template <typename T>
Planes<T> Fft<T>::Run(Planes<T> a, Planes<T> b, Planes<T> work, FftShareOut share) const {
  if (chirp_.re.empty()) return RunSmooth(a, b, work, share);
  Multiply(a, chirp_, n_, share);
  FillZeros(a.re + n_ * side_, (extent_ - n_) * side_);
  FillZeros(a.im + n_ * side_, (extent_ - n_) * side_);
  const Planes<T> spectrum = RunSmooth(a, b, work, share);
  Multiply(spectrum, filter_, extent_, share);
  const Planes<T> other = spectrum.re == a.re ? b : a;
  const Planes<T> y = RunSmooth(spectrum.Swapped(), other.Swapped(), work, share).Swapped();
  Multiply(y, chirp_, n_, share);
  return y;
}

template class Fft<float>;
template class Fft<double>;

}  // namespace fettle::kernels
