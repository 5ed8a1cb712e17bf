#include "tables/rows.h"

#include <algorithm>
#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tables/rows.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

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
    curve.bytes.start_low[i] = static_cast<uint8_t>(start);
    curve.bytes.start_high[i] = static_cast<uint8_t>(start >> 8);
    curve.bytes.slope_low[i] = static_cast<uint8_t>(slope);
    curve.bytes.slope_high[i] = static_cast<uint8_t>(slope >> 8);
  }
}

int CurveAt(const RowCurve& curve, int place, int shift) {
  const auto i = static_cast<size_t>(place >> shift);
  const int start = curve.bytes.start_low[i] + 256 * curve.bytes.start_high[i];
  const int slope = curve.bytes.slope_low[i] + 256 * curve.bytes.slope_high[i];
  return static_cast<uint16_t>(start + slope * (place & ((1 << shift) - 1)));
}

template <typename Sample>
void Row(const TableRow& row, Sample* to) {
  for (int x = 0; x < row.width; ++x) {
    const RowNode* nodes = row.nodes + x / row.cell;
    const int pixel = row.from[x], weight = x % row.cell * (65536 / row.cell);
    int level = 256 * pixel;
    if (row.kinds.tone)
      level = MixOne(CurveAt(nodes[0].tone, pixel, kToneShift),
                     CurveAt(nodes[1].tone, pixel, kToneShift), weight);
    if (row.kinds.detail) {
      const uint16_t* sums = row.sums + x;
      const int difference = 16 * pixel - sums[-row.distance] - 2 * sums[0] - sums[row.distance];
      const int shift = row.kinds.fine ? kFineShift : kDetailShift;
      const int size = std::min(difference < 0 ? -difference : difference, (16 << shift) - 1);
      const int change = MixOne(CurveAt(nodes[0].detail, size, shift),
                                CurveAt(nodes[1].detail, size, shift), weight) -
                         kChangeZero;
      level = std::clamp(level + (difference < 0 ? -change : change), 0, 65535);
    }
    level = std::min(level + row.rounding[static_cast<size_t>(x % kSpan)], 65535);
    to[x] = static_cast<Sample>(level >> (sizeof(Sample) == 1 ? 8 : 6));
  }
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
  hn::Store(start, w, curve.words.starts.data());
  hn::Store(Words(hn::ShiftRightSame(Signed(rise), shift)), w, curve.words.slopes.data());
}

/// 16 numbers of 16 bits by an index.
HWY_INLINE VW CurveAt(const RowCurve& curve, VW index, VW fraction) {
  const W w;
  const VW starts = hn::Load(w, curve.words.starts.data()),
           slopes = hn::Load(w, curve.words.slopes.data());
  const VW start = {_mm512_permutexvar_epi16(index.raw, starts.raw)};
  const VW slope = {_mm512_permutexvar_epi16(index.raw, slopes.raw)};
  return hn::Add(start, hn::Mul(slope, fraction));
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
    const VW start = hn::LoadU(w, line + i);
    const VW rise = hn::Add(hn::Sub(hn::LoadU(w, line + i + 1), start), half);
    const VW slope = Words(hn::ShiftRightSame(Signed(rise), shift));
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

/// 16 numbers of 16 bits by an index that stands in both bytes of each lane.
HWY_INLINE VW Lookup(const uint8_t* low, const uint8_t* high, VW index) {
  const B bytes;
  const auto at = hn::BitCast(bytes, index);
  const VW mask = hn::Set(W(), 0xFF);
  const VW lower = hn::BitCast(W(), hn::TableLookupBytes(hn::LoadDup128(bytes, low), at));
  const VW upper = hn::BitCast(W(), hn::TableLookupBytes(hn::LoadDup128(bytes, high), at));
  return hn::Or(hn::And(lower, mask), hn::AndNot(mask, upper));
}

HWY_INLINE VW CurveAt(const RowCurve& curve, VW index, VW fraction) {
  const VW start = Lookup(curve.bytes.start_low.data(), curve.bytes.start_high.data(), index);
  const VW slope = Lookup(curve.bytes.slope_low.data(), curve.bytes.slope_high.data(), index);
  return hn::Add(start, hn::Mul(slope, fraction));
}

HWY_INLINE VW LookupIndex(VW index) { return hn::Or(index, hn::ShiftLeft<8>(index)); }

#endif

HWY_INLINE VW Tone(const RowNode* nodes, VW pixel, VW weight) {
  const VW index = LookupIndex(hn::ShiftRight<kToneShift>(pixel));
  const VW fraction = hn::And(pixel, hn::Set(W(), (1 << kToneShift) - 1));
  return Mix(CurveAt(nodes[0].tone, index, fraction), CurveAt(nodes[1].tone, index, fraction),
             weight);
}

/// `level` and the change that the difference from the neighbours asks for.
HWY_INLINE VW WithDetail(const TableRow& row, const RowNode* nodes, int x, VW pixel, VW weight,
                         VW level) {
  const W w;
  const VW middle = hn::LoadU(w, row.sums + x);
  const VW ends =
      hn::Add(hn::LoadU(w, row.sums + x - row.distance), hn::LoadU(w, row.sums + x + row.distance));
  const VW around = hn::Add(hn::Add(middle, middle), ends);
  const VS difference = Signed(hn::Sub(hn::ShiftLeft<4>(pixel), around));
  const int shift = row.kinds.fine ? kFineShift : kDetailShift;
  const VW size = hn::Min(Words(hn::Abs(difference)), hn::Set(w, (16 << shift) - 1));
  const VW index = LookupIndex(hn::ShiftRightSame(size, shift));
  const VW fraction = hn::And(size, hn::Set(w, (1 << shift) - 1));
  const VW kept = Mix(CurveAt(nodes[0].detail, index, fraction),
                      CurveAt(nodes[1].detail, index, fraction), weight);
  const VS away = Signed(hn::Sub(kept, hn::Set(w, kChangeZero)));
  const VS zero = hn::Zero(S());
  const VS change = hn::IfThenElse(hn::Lt(difference, zero), hn::Neg(away), away);
  const VW up = Words(hn::Max(change, zero)), down = Words(hn::Max(hn::Neg(change), zero));
  return hn::SaturatedSub(hn::SaturatedAdd(level, up), down);
}

HWY_INLINE void StoreLevels(VW level, uint8_t* to) {
  hn::StoreU(hn::DemoteTo(Bytes(), Signed(hn::ShiftRight<8>(level))), Bytes(), to);
}
HWY_INLINE void StoreLevels(VW level, uint16_t* to) {
  hn::StoreU(hn::ShiftRight<6>(level), W(), to);
}

/// kSpan samples from x on, in cell number `cell`.
template <typename Sample>
HWY_INLINE void Span(const TableRow& row, int cell, int x, Sample* to) {
  const W w;
  const int lanes = static_cast<int>(hn::Lanes(w));
  const RowNode* nodes = row.nodes + cell;
  const auto step = static_cast<uint16_t>(65536 / row.cell);
  const VW places = hn::Mul(hn::Iota(w, 0), hn::Set(w, step));
  for (int i = 0; i < kSpan; i += lanes) {
    const auto begin = static_cast<uint16_t>((x + i - cell * row.cell) * step);
    const VW weight = hn::Add(places, hn::Set(w, begin));
    const VW pixel = hn::PromoteTo(w, hn::LoadU(Bytes(), row.from + x + i));
    VW level = row.kinds.tone ? Tone(nodes, pixel, weight) : hn::ShiftLeft<8>(pixel);
    if (row.kinds.detail) level = WithDetail(row, nodes, x + i, pixel, weight, level);
    StoreLevels(hn::SaturatedAdd(level, hn::LoadU(w, row.rounding.data() + i)), to + i);
  }
}

template <typename Sample>
HWY_INLINE void Row(const TableRow& row, Sample* to) {
  int x = 0, cell = 0;
  for (; x + kSpan <= row.width; ++cell) {
    const int end = std::min((cell + 1) * row.cell, row.width);
    for (; x + kSpan <= end; x += kSpan) Span(row, cell, x, to + x);
  }
  if (x == row.width) return;
  Sample last[kSpan];
  Span(row, x / row.cell, x, last);
  std::copy_n(last, row.width - x, to + x);
}

#endif

void BlendNodesRow(const Node* above, const Node* below, int count, int weight, TableKinds kinds,
                   RowNode* row) {
  const int detail_shift = kinds.fine ? kFineShift : kDetailShift;
  for (int i = 0; i < count; ++i) {
    if (kinds.tone)
      BlendCurves(above[i].tone.data(), below[i].tone.data(), weight, kToneShift, row[i].tone);
    if (kinds.detail)
      BlendCurves(above[i].detail.data(), below[i].detail.data(), weight, detail_shift,
                  row[i].detail);
  }
}

void RowToBytes(const TableRow& row, uint8_t* to) { Row(row, to); }
void RowToWords(const TableRow& row, uint16_t* to) { Row(row, to); }

// What follows is left to the compiler, which has this instruction set, too.

void SumThreeRows(const uint8_t* HWY_RESTRICT above, const uint8_t* HWY_RESTRICT here,
                  const uint8_t* HWY_RESTRICT below, int width, uint16_t* HWY_RESTRICT sums) {
  for (int x = 0; x < width; ++x)
    sums[x] = static_cast<uint16_t>(above[x] + 2 * here[x] + below[x]);
}

void AddRowOfBytes(const uint8_t* HWY_RESTRICT from, int width, uint16_t* HWY_RESTRICT sums) {
  for (int x = 0; x < width; ++x) sums[x] = static_cast<uint16_t>(sums[x] + from[x]);
}

/// From x on; factors in 1/8192; sixteenths of a level by them leave halves in the upper 16 bits.
HWY_INLINE void ScaleChromaRest(const uint8_t* from, int x, int count, int16_t start, int16_t rise,
                                int16_t step, uint8_t* to) {
  for (; x < count; ++x) {
    const auto place = static_cast<int16_t>(x * step);
    const auto factor = static_cast<int16_t>(start + 2 * ((rise * place) >> 16));
    const auto sixteenths = static_cast<int16_t>((from[x] - 128) * 16);
    const auto scaled = static_cast<int16_t>(((((sixteenths * factor) >> 16) + 1) >> 1) + 128);
    to[x] = static_cast<uint8_t>(scaled < 0 ? 0 : scaled > 255 ? 255 : scaled);
  }
}

HWY_INLINE void ScaleChromaSpan(const uint8_t* from, int count, float first, float second,
                                int16_t step, uint8_t* to) {
  const auto start = static_cast<int16_t>(first * 8192);
  const auto rise = static_cast<int16_t>((second - first) * 8192);
  int x = 0;
#if HWY_TARGET != HWY_SCALAR
  const S s;
  const int lanes = static_cast<int>(hn::Lanes(s));
  const VS grey = hn::Set(s, 128), one = hn::Set(s, 1);
  const VS places = hn::Mul(hn::Iota(s, 0), hn::Set(s, step));
  for (; x + lanes <= count; x += lanes) {
    const VS place = hn::Add(places, hn::Set(s, static_cast<int16_t>(x * step)));
    const VS half = hn::MulHigh(hn::Set(s, rise), place);
    const VS factor = hn::Add(hn::Set(s, start), hn::Add(half, half));
    const VS level = hn::PromoteTo(s, hn::LoadU(Bytes(), from + x));
    const VS sixteenths = hn::ShiftLeft<4>(hn::Sub(level, grey));
    const VS scaled = hn::ShiftRight<1>(hn::Add(hn::MulHigh(sixteenths, factor), one));
    hn::StoreU(hn::DemoteTo(Bytes(), hn::Add(scaled, grey)), Bytes(), to + x);
  }
#endif
  ScaleChromaRest(from, x, count, start, rise, step, to);
}

void ScaleChromaRow(const uint8_t* from, int width, const float* factors, int cell, uint8_t* to) {
  const auto step = static_cast<int16_t>(32768 / cell);
  for (int x = 0; x < width; x += cell, ++factors)
    ScaleChromaSpan(from + x, std::min(cell, width - x), factors[0], factors[1], step, to + x);
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::enhance
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::enhance {

HWY_EXPORT(BlendNodesRow);
HWY_EXPORT(AddRowOfBytes);
HWY_EXPORT(RowToBytes);
HWY_EXPORT(RowToWords);
HWY_EXPORT(SumThreeRows);
HWY_EXPORT(ScaleChromaRow);

void BlendNodes(const Node* above, const Node* below, int count, int weight, TableKinds kinds,
                RowNode* row) {
  HWY_DYNAMIC_DISPATCH(BlendNodesRow)(above, below, count, weight, kinds, row);
}

void AddRow(const uint8_t* from, int width, uint16_t* sums) {
  HWY_DYNAMIC_DISPATCH(AddRowOfBytes)(from, width, sums);
}

void RunRow(const TableRow& row, uint8_t* to) { HWY_DYNAMIC_DISPATCH(RowToBytes)(row, to); }
void RunRow(const TableRow& row, uint16_t* to) { HWY_DYNAMIC_DISPATCH(RowToWords)(row, to); }

void SumRows(const uint8_t* above, const uint8_t* here, const uint8_t* below, int width,
             uint16_t* sums) {
  HWY_DYNAMIC_DISPATCH(SumThreeRows)(above, here, below, width, sums);
}

void ScaleChroma(const uint8_t* from, int width, const float* factors, int cell, uint8_t* to) {
  HWY_DYNAMIC_DISPATCH(ScaleChromaRow)(from, width, factors, cell, to);
}

std::vector<int64_t> InstructionSets() {
  std::vector<int64_t> sets;
  for (int64_t left = hwy::SupportedTargets() & HWY_TARGETS; left != 0; left &= left - 1)
    sets.push_back(left & -left);
  return sets;
}

void UseInstructionSet(int64_t set) {
  hwy::SetSupportedTargetsForTest(set);
  hwy::GetChosenTarget().DeInit();  // chosen anew by the next call
}

}  // namespace fettle::enhance
#endif
