// Curves of 17 knots as vectors look them up, for each instruction set: included by tables/rows.cc
// once for each.
#if defined(FETTLE_TABLES_CURVES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FETTLE_TABLES_CURVES_INL_H_
#undef FETTLE_TABLES_CURVES_INL_H_
#else
#define FETTLE_TABLES_CURVES_INL_H_
#endif

// Highway needs this order.
#include <hwy/highway.h>

#include "tables/rows.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::enhance {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

// Machines without vectors: the same numbers one by one.
uint16_t MixOne(int first, int second, int weight) {
  return static_cast<uint16_t>((first * int64_t{65535 - weight} >> 16) +
                               (second * int64_t{weight} >> 16));
}

HWY_INLINE void BlendCurves(const uint16_t* first, const uint16_t* second, int weight, int shift,
                            RowCurve& curve) {
  for (size_t i = 0; i < 16; ++i) {
    const int start = MixOne(first[i], second[i], weight);
    const int rise = MixOne(first[i + 1], second[i + 1], weight) - start + (1 << (shift - 1));
    const int slope = static_cast<int16_t>(rise) >> shift;
    const int zero = start - slope * static_cast<int>(i << shift);
    curve.bytes.start_low[i] = static_cast<uint8_t>(zero);
    curve.bytes.start_high[i] = static_cast<uint8_t>(zero >> 8);
    curve.bytes.slope_low[i] = static_cast<uint8_t>(slope);
    curve.bytes.slope_high[i] = static_cast<uint8_t>(slope >> 8);
  }
}

int CurveAt(const RowCurve& curve, int place, int shift) {
  const auto i = static_cast<size_t>(place >> shift);
  const int start = curve.bytes.start_low[i] + 256 * curve.bytes.start_high[i];
  const int slope = curve.bytes.slope_low[i] + 256 * curve.bytes.slope_high[i];
  return static_cast<uint16_t>(start + slope * place);
}

#else

using W = hn::ScalableTag<uint16_t>;
using S = hn::RebindToSigned<W>;
using B = hn::Repartition<uint8_t, W>;
using Bytes = hn::Rebind<uint8_t, W>;  // half of a vector
using VW = hn::Vec<W>;
using VS = hn::Vec<S>;

HWY_INLINE VW Words(VS v) { return hn::BitCast(W(), v); }
HWY_INLINE VS Signed(VW v) { return hn::BitCast(S(), v); }

/// first (65535 - weight) + second weight, of 65536: up to two units less than exact.
HWY_INLINE VW Mix(VW first, VW second, VW weight) {
  return hn::Add(hn::MulHigh(first, hn::Not(weight)), hn::MulHigh(second, weight));
}

#if HWY_TARGET <= HWY_AVX3

HWY_INLINE void BlendCurves(const uint16_t* first, const uint16_t* second, int weight, int shift,
                            RowCurve& curve) {
  const W w;
  const VW share = hn::Set(w, static_cast<uint16_t>(weight));
  const VW start = Mix(hn::Load(w, first), hn::Load(w, second), share);
  const VW next = {_mm512_permutexvar_epi16(hn::Iota(w, 1).raw, start.raw)};
  const VW half = hn::Set(w, static_cast<uint16_t>(1 << (shift - 1)));
  const VW rise = hn::Add(hn::Sub(next, start), half);
  const VW slope = Words(hn::ShiftRightSame(Signed(rise), shift));
  const VW begin = hn::ShiftLeftSame(hn::Iota(w, 0), shift);
  hn::Store(hn::Sub(start, hn::Mul(slope, begin)), w, curve.words.starts.data());
  hn::Store(slope, w, curve.words.slopes.data());
}

/// A curve in registers.
struct CurveVectors {
  VW starts, slopes;
};

HWY_INLINE CurveVectors LoadCurve(const RowCurve& curve) {
  const W w;
  return {hn::Load(w, curve.words.starts.data()), hn::Load(w, curve.words.slopes.data())};
}

HWY_INLINE VW CurveAt(const CurveVectors& curve, VW index, VW place) {
  const VW start = {_mm512_permutexvar_epi16(index.raw, curve.starts.raw)};
  const VW slope = {_mm512_permutexvar_epi16(index.raw, curve.slopes.raw)};
  return hn::Add(start, hn::Mul(slope, place));
}

HWY_INLINE VW LookupIndex(VW index) { return index; }

#else

HWY_INLINE void BlendCurves(const uint16_t* first, const uint16_t* second, int weight, int shift,
                            RowCurve& curve) {
  const W w;
  const int lanes = static_cast<int>(hn::Lanes(w));
  alignas(64) uint16_t line[32 + 1] = {};
  const VW share = hn::Set(w, static_cast<uint16_t>(weight));
  for (int i = 0; i < 32; i += lanes)
    hn::StoreU(Mix(hn::LoadU(w, first + i), hn::LoadU(w, second + i), share), w, line + i);
  const VW half = hn::Set(w, static_cast<uint16_t>(1 << (shift - 1)));
  const Bytes bytes;
  alignas(64) uint8_t cut[4][32];
  const VW low = hn::Set(w, 0xFF);
  for (int i = 0; i < 16; i += lanes) {
    const VW knot = hn::LoadU(w, line + i);
    const VW rise = hn::Add(hn::Sub(hn::LoadU(w, line + i + 1), knot), half);
    const VW slope = Words(hn::ShiftRightSame(Signed(rise), shift));
    const VW begin = hn::ShiftLeftSame(hn::Iota(w, static_cast<uint16_t>(i)), shift);
    const VW start = hn::Sub(knot, hn::Mul(slope, begin));
    hn::StoreU(hn::DemoteTo(bytes, Signed(hn::And(start, low))), bytes, cut[0] + i);
    hn::StoreU(hn::DemoteTo(bytes, Signed(hn::ShiftRight<8>(start))), bytes, cut[1] + i);
    hn::StoreU(hn::DemoteTo(bytes, Signed(hn::And(slope, low))), bytes, cut[2] + i);
    hn::StoreU(hn::DemoteTo(bytes, Signed(hn::ShiftRight<8>(slope))), bytes, cut[3] + i);
  }
  std::copy_n(cut[0], 16, curve.bytes.start_low.data());
  std::copy_n(cut[1], 16, curve.bytes.start_high.data());
  std::copy_n(cut[2], 16, curve.bytes.slope_low.data());
  std::copy_n(cut[3], 16, curve.bytes.slope_high.data());
}

/// A curve in registers: low and high bytes apart.
struct CurveVectors {
  hn::Vec<B> start_low, start_high, slope_low, slope_high;
};

HWY_INLINE CurveVectors LoadCurve(const RowCurve& curve) {
  const B bytes;
  return {hn::LoadDup128(bytes, curve.bytes.start_low.data()),
          hn::LoadDup128(bytes, curve.bytes.start_high.data()),
          hn::LoadDup128(bytes, curve.bytes.slope_low.data()),
          hn::LoadDup128(bytes, curve.bytes.slope_high.data())};
}

/// 16 numbers of 16 bits by an index that stands in both bytes of each lane.
HWY_INLINE VW Lookup(hn::Vec<B> low, hn::Vec<B> high, VW index) {
  const auto at = hn::BitCast(B(), index);
  const VW mask = hn::Set(W(), 0xFF);
  const VW lower = hn::BitCast(W(), hn::TableLookupBytes(low, at));
  const VW upper = hn::BitCast(W(), hn::TableLookupBytes(high, at));
  return hn::Or(hn::And(lower, mask), hn::AndNot(mask, upper));
}

HWY_INLINE VW CurveAt(const CurveVectors& curve, VW index, VW place) {
  const VW start = Lookup(curve.start_low, curve.start_high, index);
  const VW slope = Lookup(curve.slope_low, curve.slope_high, index);
  return hn::Add(start, hn::Mul(slope, place));
}

HWY_INLINE VW LookupIndex(VW index) { return hn::Or(index, hn::ShiftLeft<8>(index)); }

#endif
#endif

}  // namespace HWY_NAMESPACE
}  // namespace fettle::enhance
HWY_AFTER_NAMESPACE();

#endif
