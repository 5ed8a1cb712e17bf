// Quads of vectors of dot products of kDotChannels channels in the order of DotPlace, and the bytes
// that sums become. For files that are compiled with AVX-512 VNNI.
#pragma once

#include <immintrin.h>

#include "kernels/cpu/quantised_depthwise/dot.h"

namespace fettle::kernels {

/// kDotChannels dwords. Named fields, not an array: those stay in registers.
struct DotQuad {
  __m512i v0, v1, v2, v3;

  static DotQuad Load(const void* from) {
    const auto* at = static_cast<const std::byte*>(from);
    return {_mm512_loadu_si512(at), _mm512_loadu_si512(at + 64), _mm512_loadu_si512(at + 128),
            _mm512_loadu_si512(at + 192)};
  }

  /// Byte c of each of the four side by side in the dword of channel c.
  static DotQuad Interleave(__m512i x0, __m512i x1, __m512i x2, __m512i x3) {
    const __m512i low01 = _mm512_unpacklo_epi8(x0, x1), high01 = _mm512_unpackhi_epi8(x0, x1);
    const __m512i low23 = _mm512_unpacklo_epi8(x2, x3), high23 = _mm512_unpackhi_epi8(x2, x3);
    return {_mm512_unpacklo_epi16(low01, low23), _mm512_unpackhi_epi16(low01, low23),
            _mm512_unpacklo_epi16(high01, high23), _mm512_unpackhi_epi16(high01, high23)};
  }

  void Store(std::byte* to) const {
    _mm512_storeu_si512(to, v0);
    _mm512_storeu_si512(to + 64, v1);
    _mm512_storeu_si512(to + 128, v2);
    _mm512_storeu_si512(to + 192, v3);
  }

  /// Adds the dot products of u8 `x` and i8 `w`.
  void Add(const DotQuad& x, const DotQuad& w) {
    v0 = _mm512_dpbusd_epi32(v0, x.v0, w.v0);
    v1 = _mm512_dpbusd_epi32(v1, x.v1, w.v1);
    v2 = _mm512_dpbusd_epi32(v2, x.v2, w.v2);
    v3 = _mm512_dpbusd_epi32(v3, x.v3, w.v3);
  }
};

/// What sums become: scale, addend, zero and range of the arguments.
template <bool kSigned>
class DotResults {
 public:
  explicit DotResults(const DotRowArgs& args)
      : scale_(DotQuad::Load(args.scale)),
        add_(DotQuad::Load(args.add)),
        zero_(_mm512_set1_epi16(static_cast<int16_t>(args.zero))),
        low_(_mm512_set1_epi8(static_cast<int8_t>(args.low))),
        high_(_mm512_set1_epi8(static_cast<int8_t>(args.high))),
        mask_(~uint64_t{0} >> (kDotChannels - args.channels)) {}

  /// Of the channels that count.
  __mmask64 mask() const { return mask_; }

  /// In the order of channels: the packs undo the interleaving, and their saturation is most of the
  /// clamp.
  __m512i Bytes(const DotQuad& s) const {
    const __m512i a =
        _mm512_packs_epi32(Round(s.v0, scale_.v0, add_.v0), Round(s.v1, scale_.v1, add_.v1));
    const __m512i b =
        _mm512_packs_epi32(Round(s.v2, scale_.v2, add_.v2), Round(s.v3, scale_.v3, add_.v3));
    const __m512i c = _mm512_adds_epi16(a, zero_), d = _mm512_adds_epi16(b, zero_);
    if constexpr (kSigned)
      return _mm512_min_epi8(high_, _mm512_max_epi8(low_, _mm512_packs_epi16(c, d)));
    return _mm512_min_epu8(high_, _mm512_max_epu8(low_, _mm512_packus_epi16(c, d)));
  }

 private:
  static __m512i Round(__m512i sum, __m512i scale, __m512i add) {
    return _mm512_cvtps_epi32(_mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), _mm512_castsi512_ps(scale),
                                              _mm512_castsi512_ps(add)));
  }

  DotQuad scale_, add_;
  __m512i zero_, low_, high_;
  __mmask64 mask_;
};

}  // namespace fettle::kernels
