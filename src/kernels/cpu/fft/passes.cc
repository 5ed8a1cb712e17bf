// Passes by vectors over transforms side by side. Radix 4 is written out, odd radices take the sums
// and differences of mirrored inputs (Rader, Brenner, A new principle for fast Fourier
// transformation, IEEE Trans. ASSP 24, 1976, as usual for small primes); Stockham's order of
// results: Cochran and others, What is the fast Fourier transform?, IEEE Trans. AU 15, 1967.
#include "kernels/cpu/fft/passes.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/fft/passes.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

#include "kernels/cpu/simd/partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
using Lanes = hn::CappedTag<T, kFftLanes>;

/// cos and sin of 2 pi k / radix for k up to half of it.
template <int kRadix>
struct Angles;
template <>
struct Angles<3> {
  static constexpr double kCos[] = {1, -0.5}, kSin[] = {0, 0.866025403784438647};
};
template <>
struct Angles<5> {
  static constexpr double kCos[] = {1, 0.309016994374947424, -0.809016994374947424};
  static constexpr double kSin[] = {0, 0.951056516295153572, 0.587785252292473129};
};
template <>
struct Angles<7> {
  static constexpr double kCos[] = {1, 0.623489801858733530, -0.222520933956314404,
                                    -0.900968867902419126};
  static constexpr double kSin[] = {0, 0.781831482468029809, 0.974927912181823607,
                                    0.433883739117558120};
};

/// The transform of two numbers in registers.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void ButterflyOfTwo(D, V* re, V* im) {
  const V r = re[0], i = im[0];
  re[0] = hn::Add(r, re[1]);
  im[0] = hn::Add(i, im[1]);
  re[1] = hn::Sub(r, re[1]);
  im[1] = hn::Sub(i, im[1]);
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE void ButterflyOfFour(D, V* re, V* im) {
  const V r02 = hn::Add(re[0], re[2]), i02 = hn::Add(im[0], im[2]);
  const V r13 = hn::Add(re[1], re[3]), i13 = hn::Add(im[1], im[3]);
  const V dr02 = hn::Sub(re[0], re[2]), di02 = hn::Sub(im[0], im[2]);
  const V dr13 = hn::Sub(re[1], re[3]), di13 = hn::Sub(im[1], im[3]);
  re[0] = hn::Add(r02, r13);
  im[0] = hn::Add(i02, i13);
  re[1] = hn::Add(dr02, di13);
  im[1] = hn::Sub(di02, dr13);
  re[2] = hn::Sub(r02, r13);
  im[2] = hn::Sub(i02, i13);
  re[3] = hn::Sub(dr02, di13);
  im[3] = hn::Add(di02, dr13);
}

template <int kRadix, class D, class V = hn::Vec<D>>
HWY_INLINE void OddButterfly(D d, V* re, V* im) {
  using T = hn::TFromD<D>;
  constexpr int kHalf = kRadix / 2;
  const V r0 = re[0], i0 = im[0];
  V sr[kHalf], si[kHalf], dr[kHalf], di[kHalf];
  for (int j = 0; j < kHalf; ++j) {
    sr[j] = hn::Add(re[1 + j], re[kRadix - 1 - j]);
    si[j] = hn::Add(im[1 + j], im[kRadix - 1 - j]);
    dr[j] = hn::Sub(re[1 + j], re[kRadix - 1 - j]);
    di[j] = hn::Sub(im[1 + j], im[kRadix - 1 - j]);
    re[0] = hn::Add(re[0], sr[j]);
    im[0] = hn::Add(im[0], si[j]);
  }
  for (int k = 1; k <= kHalf; ++k) {
    V cr = r0, ci = i0, zr = hn::Zero(d), zi = hn::Zero(d);
    for (int j = 0; j < kHalf; ++j) {
      const int turn = (j + 1) * k % kRadix;
      const int at = turn > kHalf ? kRadix - turn : turn;
      const double sine = turn > kHalf ? -Angles<kRadix>::kSin[at] : Angles<kRadix>::kSin[at];
      const V c = hn::Set(d, static_cast<T>(Angles<kRadix>::kCos[at]));
      const V s = hn::Set(d, static_cast<T>(sine));
      cr = hn::MulAdd(c, sr[j], cr);
      ci = hn::MulAdd(c, si[j], ci);
      zr = hn::MulAdd(s, dr[j], zr);
      zi = hn::MulAdd(s, di[j], zi);
    }
    re[k] = hn::Add(cr, zi);
    im[k] = hn::Sub(ci, zr);
    re[kRadix - k] = hn::Sub(cr, zi);
    im[kRadix - k] = hn::Add(ci, zr);
  }
}

template <int kRadix, typename T>
void RunPass(const FftPass<T>& pass, const Planes<T>& x, const Planes<T>& y) {
  const Lanes<T> d;
  using V = hn::Vec<Lanes<T>>;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(d));
  const int64_t width = pass.stride * kFftLanes, apart = pass.count * width;
  const T* w = pass.twiddles;
  for (int64_t p = 0; p < pass.count; ++p, w += 2 * (kRadix - 1)) {
    const T *from_re = x.re + p * width, *from_im = x.im + p * width;
    T *to_re = y.re + p * kRadix * width, *to_im = y.im + p * kRadix * width;
    for (int64_t q = 0; q < width; q += kLanes) {
      V re[kRadix], im[kRadix];
      for (int j = 0; j < kRadix; ++j) {
        re[j] = hn::LoadU(d, from_re + q + j * apart);
        im[j] = hn::LoadU(d, from_im + q + j * apart);
      }
      if constexpr (kRadix == 2) {
        ButterflyOfTwo(d, re, im);
      } else if constexpr (kRadix == 4) {
        ButterflyOfFour(d, re, im);
      } else {
        OddButterfly<kRadix>(d, re, im);
      }
      hn::StoreU(re[0], d, to_re + q);
      hn::StoreU(im[0], d, to_im + q);
      for (int k = 1; k < kRadix; ++k) {
        const V wr = hn::Set(d, w[2 * k - 2]), wi = hn::Set(d, w[2 * k - 1]);
        hn::StoreU(hn::MulSub(re[k], wr, hn::Mul(im[k], wi)), d, to_re + q + k * width);
        hn::StoreU(hn::MulAdd(re[k], wi, hn::Mul(im[k], wr)), d, to_im + q + k * width);
      }
    }
  }
}

template <typename T>
void RunPassesOf(std::span<const FftPass<T>> passes, Planes<T>& a, Planes<T>& b) {
  for (const FftPass<T>& pass : passes) {
    switch (pass.radix) {
      case 2: RunPass<2>(pass, a, b); break;
      case 3: RunPass<3>(pass, a, b); break;
      case 4: RunPass<4>(pass, a, b); break;
      case 5: RunPass<5>(pass, a, b); break;
      default: RunPass<7>(pass, a, b); break;
    }
    const Planes<T> other = a;
    a = b;
    b = other;
  }
}

template <typename T>
void MultiplyOf(const Planes<const T>& x, const Planes<const T>& f, int64_t n, const Planes<T>& y) {
  const Lanes<T> d;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(d));
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const auto re = hn::LoadU(d, x.re + i), im = hn::LoadU(d, x.im + i);
    const auto wr = hn::LoadU(d, f.re + i), wi = hn::LoadU(d, f.im + i);
    hn::StoreU(hn::MulSub(re, wr, hn::Mul(im, wi)), d, y.re + i);
    hn::StoreU(hn::MulAdd(re, wi, hn::Mul(im, wr)), d, y.im + i);
  }
  for (; i < n; ++i) {
    const T re = x.re[i], im = x.im[i];
    y.re[i] = re * f.re[i] - im * f.im[i];
    y.im[i] = re * f.im[i] + im * f.re[i];
  }
}

template <typename T>
void TurnOf(const TurnRows<T>& rows) {
  const Lanes<T> d;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(d));
  for (int64_t k = 0; k < rows.rows; ++k) {
    const auto sr = hn::Set(d, rows.s.re[k]), si = hn::Set(d, rows.s.im[k]);
    for (int64_t l = 0; l < rows.lanes; l += kLanes) {
      const int64_t at = k * kFftLanes + l, to = k * rows.y_stride + l;
      auto wr = sr, wi = si;
      if (rows.f.re != nullptr) {
        const auto fr = hn::LoadU(d, rows.f.re + at), fi = hn::LoadU(d, rows.f.im + at);
        wr = hn::MulSub(fr, sr, hn::Mul(fi, si));
        wi = hn::MulAdd(fr, si, hn::Mul(fi, sr));
      }
      const auto re = hn::LoadU(d, rows.x.re + at), im = hn::LoadU(d, rows.x.im + at);
      const auto out_re = hn::MulSub(re, wr, hn::Mul(im, wi));
      const auto out_im = hn::MulAdd(re, wi, hn::Mul(im, wr));
      if (rows.lanes - l >= kLanes) {
        hn::StoreU(out_re, d, rows.y.re + to);
        hn::StoreU(out_im, d, rows.y.im + to);
      } else {
        StoreFirst(d, out_re, rows.lanes - l, rows.y.re + to);
        StoreFirst(d, out_im, rows.lanes - l, rows.y.im + to);
      }
    }
  }
}

void RunFloatPasses(std::span<const FftPass<float>> passes, Planes<float>& a, Planes<float>& b) {
  RunPassesOf(passes, a, b);
}
void RunDoublePasses(std::span<const FftPass<double>> passes, Planes<double>& a,
                     Planes<double>& b) {
  RunPassesOf(passes, a, b);
}
void MultiplyFloats(const Planes<const float>& x, const Planes<const float>& f, int64_t n,
                    const Planes<float>& y) {
  MultiplyOf(x, f, n, y);
}
void MultiplyDoubles(const Planes<const double>& x, const Planes<const double>& f, int64_t n,
                     const Planes<double>& y) {
  MultiplyOf(x, f, n, y);
}
void TurnFloats(const TurnRows<float>& rows) { TurnOf(rows); }
void TurnDoubles(const TurnRows<double>& rows) { TurnOf(rows); }

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(RunFloatPasses);
HWY_EXPORT(RunDoublePasses);
HWY_EXPORT(MultiplyFloats);
HWY_EXPORT(MultiplyDoubles);
HWY_EXPORT(TurnFloats);
HWY_EXPORT(TurnDoubles);

Planes<float> RunPasses(std::span<const FftPass<float>> passes, Planes<float> a, Planes<float> b) {
  HWY_DYNAMIC_DISPATCH(RunFloatPasses)(passes, a, b);
  return a;
}
Planes<double> RunPasses(std::span<const FftPass<double>> passes, Planes<double> a,
                         Planes<double> b) {
  HWY_DYNAMIC_DISPATCH(RunDoublePasses)(passes, a, b);
  return a;
}
void MultiplyComplex(Planes<const float> x, Planes<const float> f, int64_t n, Planes<float> y) {
  HWY_DYNAMIC_DISPATCH(MultiplyFloats)(x, f, n, y);
}
void MultiplyComplex(Planes<const double> x, Planes<const double> f, int64_t n, Planes<double> y) {
  HWY_DYNAMIC_DISPATCH(MultiplyDoubles)(x, f, n, y);
}
void Turn(const TurnRows<float>& rows) { HWY_DYNAMIC_DISPATCH(TurnFloats)(rows); }
void Turn(const TurnRows<double>& rows) { HWY_DYNAMIC_DISPATCH(TurnDoubles)(rows); }

}  // namespace fettle::kernels
#endif
