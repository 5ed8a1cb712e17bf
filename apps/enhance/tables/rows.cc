#include "tables/rows.h"

#include <algorithm>
#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tables/rows.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "tables/curves-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::enhance {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

template <bool tone, bool detail, typename Sample>
void Row(const TableRow<Sample>& row) {
  for (int x = 0; x < row.width; ++x) {
    const RowNode* nodes = row.nodes + x / row.cell;
    const int pixel = row.from[x], weight = x % row.cell * (65536 / row.cell);
    int level = 256 * pixel;
    if (tone)
      level = MixOne(CurveAt(nodes[0].tone, pixel, kToneShift),
                     CurveAt(nodes[1].tone, pixel, kToneShift), weight);
    if (detail) {
      const uint16_t* sums = row.sums + x;
      const int difference = 16 * pixel - sums[-row.distance] - 2 * sums[0] - sums[row.distance];
      const int shift = row.kinds.fine ? kFineShift : kDetailShift;
      const int size = std::min(difference < 0 ? -difference : difference, (16 << shift) - 1);
      const int change = MixOne(CurveAt(nodes[0].detail, size, shift),
                                CurveAt(nodes[1].detail, size, shift), weight) -
                         kChangeZero;
      level = std::clamp(level + (difference < 0 ? -change : change), 0, 65535);
    }
    level = std::min(level + row.rounding[kSpan / 2 * (x % 2) + x % kSpan / 2], 65535);
    row.to[x] = static_cast<Sample>(level >> (sizeof(Sample) == 1 ? 8 : 6));
  }
}

template <bool tone, bool detail, typename Sample>
void Rows(const TableRow<Sample>* rows, int count) {
  for (int i = 0; i < count; ++i) Row<tone, detail>(rows[i]);
}

#else

/// A curve at the nodes to the left and right of a cell.
struct CurvePair {
  CurveVectors left, right;
};

HWY_INLINE CurvePair LoadPair(const RowCurve& left, const RowCurve& right) {
  return {LoadCurve(left), LoadCurve(right)};
}

HWY_INLINE VW PairAt(const CurvePair& pair, VW index, VW place, VW weight) {
  return Mix(CurveAt(pair.left, index, place), CurveAt(pair.right, index, place), weight);
}

/// Of a vector's even samples and of its odd ones, which need no shuffles to become words.
struct Halves {
  VW even, odd;
};

/// Sixteenths of a level by which samples from x on differ from their neighbours.
template <typename Sample>
HWY_INLINE Halves Differences(const TableRow<Sample>& row, int x, const Halves& pixels) {
  const W w;
  const auto around = [&](int at) {
    const VW middle = hn::LoadU(w, row.sums + at);
    const VW ends = hn::Add(hn::LoadU(w, row.sums + at - row.distance),
                            hn::LoadU(w, row.sums + at + row.distance));
    return hn::Add(hn::Add(middle, middle), ends);
  };
  const VW first = around(x), second = around(x + static_cast<int>(hn::Lanes(w)));
  return {hn::Sub(hn::ShiftLeft<4>(pixels.even), hn::ConcatEven(w, second, first)),
          hn::Sub(hn::ShiftLeft<4>(pixels.odd), hn::ConcatOdd(w, second, first))};
}

/// `level` and the change that the difference asks for.
HWY_INLINE VW WithDetail(const CurvePair& detail, bool fine, VS difference, VW weight, VW level) {
  const W w;
  const int shift = fine ? kFineShift : kDetailShift;
  const VW size = hn::Min(Words(hn::Abs(difference)), hn::Set(w, (16 << shift) - 1));
  const VW kept = PairAt(detail, LookupIndex(hn::ShiftRightSame(size, shift)), size, weight);
  const VS away = Signed(hn::Sub(kept, hn::Set(w, kChangeZero)));
  const VS zero = hn::Zero(S());
  const VS change = hn::IfThenElse(hn::Lt(difference, zero), hn::Neg(away), away);
  const VW up = Words(hn::Max(change, zero)), down = Words(hn::Max(hn::Neg(change), zero));
  return hn::SaturatedSub(hn::SaturatedAdd(level, up), down);
}

HWY_INLINE void StoreLevels(const Halves& levels, uint8_t* to) {
  const VW high = hn::AndNot(hn::Set(W(), 0xFF), levels.odd);
  hn::StoreU(hn::BitCast(B(), hn::Or(hn::ShiftRight<8>(levels.even), high)), B(), to);
}
HWY_INLINE void StoreLevels(const Halves& levels, uint16_t* to) {
  hn::StoreInterleaved2(hn::ShiftRight<6>(levels.even), hn::ShiftRight<6>(levels.odd), W(), to);
}

/// The samples from `begin` to `end`, whole spans of one cell, at least one; `weights` are those at
/// `begin`, and become greater by `next` with each pair of vectors.
template <bool tone, bool detail, typename Sample>
HWY_INLINE void CellOfRow(const TableRow<Sample>& row, const CurvePair& tones,
                          const CurvePair& details, Halves weights, VW next, int begin, int end,
                          Sample* HWY_RESTRICT to) {
  const W w;
  const int lanes = static_cast<int>(hn::Lanes(w));
  const uint8_t* from = row.from;
  const uint16_t* rounding = row.rounding;
  for (int x = begin;;) {
    hwy::Prefetch(row.ahead + x);
    const VW both = hn::BitCast(w, hn::LoadU(B(), from + x));
    const Halves pixels = {hn::And(both, hn::Set(w, 0xFF)), hn::ShiftRight<8>(both)};
    const auto level = [&](VW pixel, VW weight) {
      return tone ? PairAt(tones, LookupIndex(hn::ShiftRight<kToneShift>(pixel)), pixel, weight)
                  : hn::ShiftLeft<8>(pixel);
    };
    Halves levels = {level(pixels.even, weights.even), level(pixels.odd, weights.odd)};
    if (detail) {
      const Halves differences = Differences(row, x, pixels);
      const auto with = [&](VW difference, VW weight, VW before) {
        return WithDetail(details, row.kinds.fine, Signed(difference), weight, before);
      };
      levels = {with(differences.even, weights.even, levels.even),
                with(differences.odd, weights.odd, levels.odd)};
    }
    const uint16_t* add = rounding + static_cast<unsigned>(x) % kSpan / 2;
    levels = {hn::SaturatedAdd(levels.even, hn::LoadU(w, add)),
              hn::SaturatedAdd(levels.odd, hn::LoadU(w, add + kSpan / 2))};
    StoreLevels(levels, to + (x - begin));
    x += 2 * lanes;
    if (x >= end)
      return;  // most cells are one pair of vectors, whose weights are those of all rows
    weights = {hn::Add(weights.even, next), hn::Add(weights.odd, next)};
  }
}

template <bool tone, bool detail, typename Sample>
HWY_INLINE void Rows(const TableRow<Sample>* rows, int count) {
  const W w;
  const TableRow<Sample>& row = rows[0];
  const auto step = static_cast<uint16_t>(65536 / row.cell);
  const VW even = hn::Mul(hn::Iota(w, 0), hn::Set(w, static_cast<uint16_t>(2 * step)));
  const Halves weights = {even, hn::Add(even, hn::Set(w, step))};
  const VW next = hn::Set(w, static_cast<uint16_t>(2 * hn::Lanes(w) * step));
  const int whole = row.width / kSpan * kSpan, most = whole == row.width ? whole : whole + kSpan;
  for (int x = 0, cell = 0; x < most; x += row.cell, ++cell) {
    const RowNode* nodes = row.nodes + cell;
    CurvePair tones, details;
    if (tone) tones = LoadPair(nodes[0].tone, nodes[1].tone);
    if (detail) details = LoadPair(nodes[0].detail, nodes[1].detail);
    const int end = std::min(x + row.cell, whole);
    for (int i = 0; i < count && x < end; ++i)
      CellOfRow<tone, detail>(rows[i], tones, details, weights, next, x, end, rows[i].to + x);
    if (x + row.cell <= whole || most == whole) continue;
    const VW left = hn::Set(w, static_cast<uint16_t>((end - x) * step));
    const Halves later = {hn::Add(weights.even, left), hn::Add(weights.odd, left)};
    Sample last[kSpan];
    for (int i = 0; i < count; ++i) {
      CellOfRow<tone, detail>(rows[i], tones, details, later, next, whole, most, last);
      std::copy_n(last, row.width - whole, rows[i].to + whole);
    }
  }
}

#endif

template <typename Sample>
HWY_INLINE void RowsOfKinds(const TableRow<Sample>* rows, int count) {
  const TableKinds kinds = rows[0].kinds;
  if (kinds.tone && kinds.detail) return Rows<true, true>(rows, count);
  if (kinds.tone) return Rows<true, false>(rows, count);
  if (kinds.detail) return Rows<false, true>(rows, count);
  Rows<false, false>(rows, count);
}

void RowsToBytes(const TableRow<uint8_t>* rows, int count) { RowsOfKinds(rows, count); }
void RowsToWords(const TableRow<uint16_t>* rows, int count) { RowsOfKinds(rows, count); }

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

}  // namespace HWY_NAMESPACE
}  // namespace fettle::enhance
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::enhance {

HWY_EXPORT(BlendNodesRow);
HWY_EXPORT(RowsToBytes);
HWY_EXPORT(RowsToWords);

void BlendNodes(const Node* above, const Node* below, int count, int weight, TableKinds kinds,
                RowNode* row) {
  HWY_DYNAMIC_DISPATCH(BlendNodesRow)(above, below, count, weight, kinds, row);
}

void RunRows(const TableRow<uint8_t>* rows, int count) {
  HWY_DYNAMIC_DISPATCH(RowsToBytes)(rows, count);
}
void RunRows(const TableRow<uint16_t>* rows, int count) {
  HWY_DYNAMIC_DISPATCH(RowsToWords)(rows, count);
}

std::vector<int64_t> InstructionSets() {
  std::vector<int64_t> sets;
  for (int64_t left = hwy::SupportedTargets() & HWY_TARGETS; left != 0; left &= left - 1)
    sets.push_back(left & -left);
  return sets;
}

void UseInstructionSet(int64_t set) {
  hwy::SetSupportedTargetsForTest(set);
  hwy::GetChosenTarget().DeInit();  // chosen again by the next call
}

}  // namespace fettle::enhance
#endif
