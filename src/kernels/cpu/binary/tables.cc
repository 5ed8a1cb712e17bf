#include "kernels/cpu/binary/tables.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/binary/tables.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

#ifndef FETTLE_BIT_TABLES
#define FETTLE_BIT_TABLES
namespace fettle::kernels {

inline constexpr int kTableOutputs = 2, kTablePairs = kBitOutputs / kTableOutputs;
inline constexpr int kNibbles = 16;  // of a word

/// Entry x of table (v | w << 4): differing bits of x and v, and of x and w, times 16.
inline constexpr auto kTables = [] {
  std::array<std::array<uint8_t, 16>, 256> tables{};
  for (unsigned pair = 0; pair < 256; ++pair) {
    for (unsigned x = 0; x < 16; ++x) {
      const int first = std::popcount(x ^ (pair & 15)), second = std::popcount(x ^ (pair >> 4));
      tables[pair][x] = static_cast<uint8_t>(first + 16 * second);
    }
  }
  return tables;
}();

}  // namespace fettle::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

int TablePixelsOnTarget() { return 0; }
void SplitNibblesOnTarget(const uint64_t* const*, const int64_t*, int64_t, uint8_t*) {}
void CountByTablesOnTarget(const TableArgs&) {}

#else

using ByteD = hn::ScalableTag<uint8_t>;
using ByteV = hn::Vec<ByteD>;
using BlockD = hn::FixedTag<uint8_t, 16>;
using BlockV = hn::Vec<BlockD>;
constexpr int kTableLanes = HWY_LANES(uint8_t) < 64 ? HWY_LANES(uint8_t) : 64;
/// Steps whose counts of a pair fit one byte, and steps whose totals do.
constexpr int kStepsOfPair = 3, kStepsOfTotal = 63;

int TablePixelsOnTarget() { return kTableLanes; }

/// rows[k] = element k of each v, of eight u16 each.
HWY_INLINE void Transpose8(BlockV (&v)[8]) {
  const hn::FixedTag<uint8_t, 16> d8;
  const hn::FixedTag<uint16_t, 8> d16;
  BlockV a[8], b[8];
  for (int i = 0; i < 4; ++i) {
    const auto lower = hn::BitCast(d16, v[i]), upper = hn::BitCast(d16, v[i + 4]);
    a[2 * i] = hn::BitCast(d8, hn::InterleaveLower(d16, lower, upper));
    a[2 * i + 1] = hn::BitCast(d8, hn::InterleaveUpper(d16, lower, upper));
  }
  for (int i = 0; i < 4; ++i) {
    const auto lower = hn::BitCast(d16, a[i]), upper = hn::BitCast(d16, a[i + 4]);
    b[2 * i] = hn::BitCast(d8, hn::InterleaveLower(d16, lower, upper));
    b[2 * i + 1] = hn::BitCast(d8, hn::InterleaveUpper(d16, lower, upper));
  }
  for (int i = 0; i < 4; ++i) {
    const auto lower = hn::BitCast(d16, b[i]), upper = hn::BitCast(d16, b[i + 4]);
    v[2 * i] = hn::BitCast(d8, hn::InterleaveLower(d16, lower, upper));
    v[2 * i + 1] = hn::BitCast(d8, hn::InterleaveUpper(d16, lower, upper));
  }
}

void SplitNibblesOnTarget(const uint64_t* const* bases, const int64_t* steps, int64_t count,
                          uint8_t* nibbles) {
  const BlockD d;
  const hn::FixedTag<uint64_t, 2> d64;
  // Two words' bytes, in turns.
  alignas(16) static constexpr uint8_t kZip[16] = {0, 8,  1, 9,  2, 10, 3, 11,
                                                   4, 12, 5, 13, 6, 14, 7, 15};
  const auto zip = hn::Load(d, kZip), low = hn::Set(d, 15);
  for (int64_t i = 0; i < count; ++i) {
    for (int first = 0; first < kTableLanes; first += 16) {
      BlockV v[8];
      for (int k = 0; k < 8; ++k) {
        const uint64_t words[2] = {bases[first + 2 * k][steps[i]],
                                   bases[first + 2 * k + 1][steps[i]]};
        v[k] = hn::TableLookupBytes(hn::BitCast(d, hn::LoadU(d64, words)), zip);
      }
      Transpose8(v);
      uint8_t* out = nibbles + i * kNibbles * kTableLanes + first;
      for (int k = 0; k < 8; ++k) {
        const auto upper = hn::And(
            hn::BitCast(d, hn::ShiftRight<4>(hn::BitCast(hn::FixedTag<uint16_t, 8>(), v[k]))), low);
        hn::StoreU(hn::And(v[k], low), d, out + 2 * k * kTableLanes);
        hn::StoreU(upper, d, out + (2 * k + 1) * kTableLanes);
      }
    }
  }
}

/// Adds bytes to u16 of the same pixels.
HWY_INLINE void AddBytes(ByteV bytes, uint16_t* sums) {
  const hn::ScalableTag<uint16_t> d16;
  const hn::Half<ByteD> half;
  constexpr int kHalf = kTableLanes / 2;
  const auto lower = hn::PromoteTo(d16, hn::LowerHalf(half, bytes));
  const auto upper = hn::PromoteTo(d16, hn::UpperHalf(half, bytes));
  hn::Store(hn::Add(hn::Load(d16, sums), lower), d16, sums);
  hn::Store(hn::Add(hn::Load(d16, sums + kHalf), upper), d16, sums + kHalf);
}

/// kSteps look-ups of each pair, whose counts fit a byte together.
template <int kSteps>
HWY_INLINE void LookUp(const uint8_t* nibbles, const uint8_t* pairs, ByteV (&total)[kTablePairs],
                       ByteV (&second)[kTablePairs]) {
  const ByteD d;
  const hn::ScalableTag<uint16_t> d16;
  const auto low = hn::Set(d, 15);
#pragma GCC unroll 4
  for (int pair = 0; pair < kTablePairs; ++pair) {
    auto counts =
        hn::TableLookupBytes(hn::LoadDup128(d, kTables[pairs[pair]].data()), hn::Load(d, nibbles));
#pragma GCC unroll 2
    for (int step = 1; step < kSteps; ++step) {
      const auto table = hn::LoadDup128(d, kTables[pairs[step * kTablePairs + pair]].data());
      const auto x = hn::Load(d, nibbles + step * kTableLanes);
      counts = hn::Add(counts, hn::TableLookupBytes(table, x));
    }
    const auto shifted = hn::BitCast(d, hn::ShiftRight<4>(hn::BitCast(d16, counts)));
    total[pair] = hn::Add(total[pair], counts);
    second[pair] = hn::Add(second[pair], hn::And(shifted, low));
  }
}

/// Up to kStepsOfTotal steps of all pairs.
HWY_INLINE void CountSteps(const uint8_t* nibbles, const uint8_t* pairs, int steps,
                           uint16_t (*sums)[kTableLanes]) {
  const ByteD d;
  const hn::ScalableTag<uint16_t> d16;
  ByteV total[kTablePairs], second[kTablePairs];
#pragma GCC unroll 4
  for (int pair = 0; pair < kTablePairs; ++pair) total[pair] = second[pair] = hn::Zero(d);
  for (; steps >= kStepsOfPair; steps -= kStepsOfPair) {
    LookUp<kStepsOfPair>(nibbles, pairs, total, second);
    nibbles += kStepsOfPair * kTableLanes;
    pairs += kStepsOfPair * kTablePairs;
  }
  for (; steps > 0; --steps, nibbles += kTableLanes, pairs += kTablePairs)
    LookUp<1>(nibbles, pairs, total, second);
  const auto high = hn::Set(d, 0xf0);
#pragma GCC unroll 4
  for (int pair = 0; pair < kTablePairs; ++pair) {
    const auto times16 =
        hn::And(hn::BitCast(d, hn::ShiftLeft<4>(hn::BitCast(d16, second[pair]))), high);
    AddBytes(hn::Sub(total[pair], times16), sums[2 * pair]);
    AddBytes(second[pair], sums[2 * pair + 1]);
  }
}

void CountByTablesOnTarget(const TableArgs& args) {
  HWY_ALIGN uint16_t sums[kBitOutputs][kTableLanes];
  const BlockD d;
  const hn::FixedTag<uint16_t, 8> d16;
  const hn::FixedTag<uint32_t, 4> d32;
  // Sums of u16 hold 65535 bits.
  constexpr int64_t kStepsOfSums = 16380;
  const int64_t steps = args.count * kNibbles;
  for (int64_t begin = 0; begin < steps; begin += kStepsOfSums) {
    for (auto& row : sums) std::fill_n(row, kTableLanes, uint16_t{0});
    const int64_t end = std::min(steps, begin + kStepsOfSums);
    for (int64_t i = begin; i < end; i += kStepsOfTotal) {
      CountSteps(args.nibbles + i * kTableLanes, args.pairs + i * kTablePairs,
                 static_cast<int>(std::min<int64_t>(kStepsOfTotal, end - i)), sums);
    }
    for (int p = 0; p < kTableLanes; p += 8) {
      BlockV v[8];
      for (int o = 0; o < 8; ++o) v[o] = hn::BitCast(d, hn::Load(d16, sums[o] + p));
      Transpose8(v);
      for (int k = 0; k < 8; ++k) {
        int32_t* out = args.sums + (p + k) * args.stride;
        const hn::Half<decltype(d16)> half;
        const auto row = hn::BitCast(d16, v[k]);
        auto lower = hn::PromoteTo(d32, hn::LowerHalf(half, row));
        auto upper = hn::PromoteTo(d32, hn::UpperHalf(half, row));
        auto* to = reinterpret_cast<uint32_t*>(out);
        if (begin > 0) {
          lower = hn::Add(lower, hn::LoadU(d32, to));
          upper = hn::Add(upper, hn::LoadU(d32, to + 4));
        }
        hn::StoreU(lower, d32, to);
        hn::StoreU(upper, d32, to + 4);
      }
    }
  }
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(TablePixelsOnTarget);
HWY_EXPORT(SplitNibblesOnTarget);
HWY_EXPORT(CountByTablesOnTarget);

int TablePixels() { return HWY_DYNAMIC_DISPATCH(TablePixelsOnTarget)(); }

void SplitNibbles(const uint64_t* const* bases, const int64_t* steps, int64_t count,
                  uint8_t* nibbles) {
  HWY_DYNAMIC_DISPATCH(SplitNibblesOnTarget)(bases, steps, count, nibbles);
}

void PairNibbles(const uint64_t* words, int64_t count, uint8_t* pairs) {
  for (int64_t i = 0; i < count; ++i, words += kBitOutputs) {
    for (int nibble = 0; nibble < kNibbles; ++nibble) {
      for (int pair = 0; pair < kTablePairs; ++pair) {
        const uint64_t first = words[2 * pair] >> (4 * nibble) & 15;
        const uint64_t second = words[2 * pair + 1] >> (4 * nibble) & 15;
        *pairs++ = static_cast<uint8_t>(first | second << 4);
      }
    }
  }
}

void CountByTables(const TableArgs& args) { HWY_DYNAMIC_DISPATCH(CountByTablesOnTarget)(args); }

}  // namespace fettle::kernels
#endif
