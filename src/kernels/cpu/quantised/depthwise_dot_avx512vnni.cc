#include "kernels/cpu/quantised/depthwise_dot.h"

#if defined(__AVX512VNNI__)
#include <immintrin.h>

#include <algorithm>
#include <utility>

namespace fettle::kernels {
namespace {

template <bool kSigned>
class DotRow {
 public:
  explicit DotRow(const DotRowArgs& args)
      : args_(args),
        zero_(_mm512_set1_epi16(static_cast<int16_t>(args.zero))),
        low_(_mm512_set1_epi8(static_cast<int8_t>(args.low))),
        high_(_mm512_set1_epi8(static_cast<int8_t>(args.high))),
        mask_(~uint64_t{0} >> (kDotChannels - args.channels)) {}

  void Run() const {
    int64_t pixel = 0;
    for (; pixel + 4 <= args_.pixels; pixel += 4) RunPixels(pixel, std::make_index_sequence<4>());
    for (; pixel < args_.pixels; ++pixel) RunPixels(pixel, std::make_index_sequence<1>());
  }

 private:
  struct Sums {
    __m512i v0, v1, v2, v3;
  };
  struct Tap {
    __m512i v0, v1, v2, v3;
  };

  static __m512i Load(const std::byte* at, int v) { return _mm512_loadu_si512(at + v * 64); }

  static void AddTap(const Tap& w, const std::byte* x, Sums& s) {
    s.v0 = _mm512_dpbusd_epi32(s.v0, Load(x, 0), w.v0);
    s.v1 = _mm512_dpbusd_epi32(s.v1, Load(x, 1), w.v1);
    s.v2 = _mm512_dpbusd_epi32(s.v2, Load(x, 2), w.v2);
    s.v3 = _mm512_dpbusd_epi32(s.v3, Load(x, 3), w.v3);
  }

  // Pixels are unrolled by expansion: a loop over them would keep the sums in memory.
  template <size_t... kPixel>
  void RunPixels(int64_t pixel, std::index_sequence<kPixel...>) const {
    const auto* init = reinterpret_cast<const std::byte*>(args_.init);
    const Sums start{Load(init, 0), Load(init, 1), Load(init, 2), Load(init, 3)};
    Sums sums[sizeof...(kPixel)] = {((void)kPixel, start)...};
    const std::byte* x = args_.columns + pixel * args_.pixel_step;
    const std::byte* w = args_.weights;
    for (int64_t t = 0; t < args_.taps; ++t, w += kDotBytes) {
      const Tap tap{Load(w, 0), Load(w, 1), Load(w, 2), Load(w, 3)};
      const std::byte* at = x + args_.tap_offsets[t];
      (AddTap(tap, at + kPixel * args_.pixel_step, sums[kPixel]), ...);
    }
    (Store(sums[kPixel], args_.out + (pixel + kPixel) * args_.out_step), ...);
  }

  __m512i Round(__m512i sum, int v) const {
    const __m512 scale = _mm512_loadu_ps(args_.scale + v * 16);
    const __m512 add = _mm512_loadu_ps(args_.add + v * 16);
    return _mm512_cvtps_epi32(_mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), scale, add));
  }

  /// The packs undo the interleaving, and their saturation is most of the clamp.
  void Store(const Sums& s, uint8_t* out) const {
    const __m512i a = _mm512_packs_epi32(Round(s.v0, 0), Round(s.v1, 1));
    const __m512i b = _mm512_packs_epi32(Round(s.v2, 2), Round(s.v3, 3));
    const __m512i c = _mm512_adds_epi16(a, zero_), d = _mm512_adds_epi16(b, zero_);
    __m512i q;
    if constexpr (kSigned) {
      q = _mm512_min_epi8(high_, _mm512_max_epi8(low_, _mm512_packs_epi16(c, d)));
    } else {
      q = _mm512_min_epu8(high_, _mm512_max_epu8(low_, _mm512_packus_epi16(c, d)));
    }
    _mm512_mask_storeu_epi8(out, mask_, q);
  }

  const DotRowArgs& args_;
  __m512i zero_, low_, high_;
  __mmask64 mask_;
};

}  // namespace

void InterleaveColumns(const InterleaveArgs& args) {
  const __m512i flip = _mm512_set1_epi8(static_cast<char>(args.flip));
  std::byte* out = args.out;
  for (int64_t i = 0; i < args.count; ++i, out += args.out_step) {
    const auto line = [&](int r) {
      return _mm512_xor_si512(_mm512_loadu_si512(args.lines[r] + i * args.steps[r]), flip);
    };
    const __m512i x0 = line(0), x1 = line(1), x2 = line(2), x3 = line(3);
    const __m512i low01 = _mm512_unpacklo_epi8(x0, x1), high01 = _mm512_unpackhi_epi8(x0, x1);
    const __m512i low23 = _mm512_unpacklo_epi8(x2, x3), high23 = _mm512_unpackhi_epi8(x2, x3);
    _mm512_storeu_si512(out, _mm512_unpacklo_epi16(low01, low23));
    _mm512_storeu_si512(out + 64, _mm512_unpackhi_epi16(low01, low23));
    _mm512_storeu_si512(out + 128, _mm512_unpacklo_epi16(high01, high23));
    _mm512_storeu_si512(out + 192, _mm512_unpackhi_epi16(high01, high23));
  }
}

void RunDotRow(const DotRowArgs& args) {
  if (args.is_signed) {
    DotRow<true>(args).Run();
  } else {
    DotRow<false>(args).Run();
  }
}

}  // namespace fettle::kernels
#else
namespace fettle::kernels {
void InterleaveColumns(const InterleaveArgs&) {}
void RunDotRow(const DotRowArgs&) {}
}  // namespace fettle::kernels
#endif
