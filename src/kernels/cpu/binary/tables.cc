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

#include "kernels/cpu/binary/transpose8-inl.h"

#ifndef FETTLE_BIT_TABLES
#define FETTLE_BIT_TABLES
namespace fettle::kernels {

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
void CountByTablesOnTarget(const TableArgs&) {}

#else

using ByteD = hn::ScalableTag<uint8_t>;
using ByteV = hn::Vec<ByteD>;
using PairD = hn::ScalableTag<uint16_t>;
constexpr int kTableLanes = HWY_LANES(uint8_t) < 64 ? HWY_LANES(uint8_t) : 64;
/// Vectors of pixels that share the load of a table, and pairs that share loads of pixels: what
/// registers hold.
constexpr bool kHasManyRegisters = HWY_ARCH_ARM || HWY_TARGET <= HWY_AVX3;
constexpr int kTableVectors = kHasManyRegisters ? 64 / kTableLanes : 2;
constexpr int kPairsAtOnce = kTableVectors == 1 ? 4 : 2;
/// Steps whose counts of a pair fit one byte, and steps whose totals do.
constexpr int kStepsOfPair = 3, kStepsOfTotal = 63;
/// Where vectors shift no bytes, those of u16 move the lower bits of one count into the next.
constexpr bool kMixesShifts = !HWY_ARCH_ARM;

int TablePixelsOnTarget() { return kTableLanes; }

/// Computes `v` here: GCC 12 puts sums off to where they are used, where they do not fit registers.
HWY_INLINE void Pin(ByteV& v) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_EMU128
  __asm__ volatile("" : "+v"(v.raw));
#else
  (void)v;
#endif
}

/// Adds bytes to u16 of the same pixels, or begins with them.
HWY_INLINE void AddBytes(ByteV bytes, bool is_first, uint16_t* sums) {
  const PairD d16;
  const hn::Half<ByteD> half;
  constexpr int kHalf = kTableLanes / 2;
  auto lower = hn::PromoteTo(d16, hn::LowerHalf(half, bytes));
  auto upper = hn::PromoteTo(d16, hn::UpperHalf(half, bytes));
  if (!is_first) {
    lower = hn::Add(lower, hn::Load(d16, sums));
    upper = hn::Add(upper, hn::Load(d16, sums + kHalf));
  }
  hn::Store(lower, d16, sums);
  hn::Store(upper, d16, sums + kHalf);
}

/// Sums of kPairsAtOnce pairs over vectors of pixels. No struct: its constructors would have no
/// vectors.
template <int kVectors>
using PairSums = ByteV[kPairsAtOnce][kVectors];

/// kSteps look-ups of each pair, whose counts fit a byte together, more in `total` mod 256, and
/// what lies above bit 4 of them in `upper`.
template <int kSteps, int kVectors>
HWY_INLINE void LookUp(const uint8_t* nibbles, int64_t pixels, const uint8_t* pairs,
                       PairSums<kVectors>& total, PairSums<kVectors>& upper) {
  const ByteD d;
  ByteV counts[kPairsAtOnce][kVectors];
#pragma GCC unroll 4
  for (int step = 0; step < kSteps; ++step, nibbles += pixels, pairs += kTablePairs) {
    ByteV x[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) x[v] = hn::Load(d, nibbles + v * kTableLanes);
#pragma GCC unroll 4
    for (int pair = 0; pair < kPairsAtOnce; ++pair) {
      const auto table = hn::LoadDup128(d, kTables[pairs[pair]].data());
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        auto found = hn::TableLookupBytes(table, x[v]);
        if (step > 0) found = hn::Add(found, counts[pair][v]);
        Pin(found);
        counts[pair][v] = found;
      }
    }
  }
#pragma GCC unroll 4
  for (int pair = 0; pair < kPairsAtOnce; ++pair) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const auto found = counts[pair][v];
      total[pair][v] = hn::Add(total[pair][v], found);
      if constexpr (kMixesShifts) {
        const auto shifted = hn::BitCast(d, hn::ShiftRight<4>(hn::BitCast(PairD(), found)));
        upper[pair][v] = hn::Add(upper[pair][v], shifted);
      } else {
        upper[pair][v] = hn::Add(upper[pair][v], hn::ShiftRight<4>(found));
      }
    }
  }
}

/// Each byte times 16, mod 256.
HWY_INLINE ByteV Times16(ByteV bytes) {
  const ByteD d;
  return hn::And(hn::BitCast(d, hn::ShiftLeft<4>(hn::BitCast(PairD(), bytes))), hn::Set(d, 0xf0));
}

/// The sums of a pair's second output, from both of PairSums. Mixed, the lower byte of a u16 has 16
/// times the first output's sum of the upper byte too much.
HWY_INLINE ByteV SecondOf(ByteV total, ByteV upper) {
  if constexpr (!kMixesShifts) return upper;
  const ByteD d;
  const auto first = hn::BitCast(PairD(), hn::Sub(total, Times16(upper)));
  return hn::Sub(upper, Times16(hn::BitCast(d, hn::ShiftRight<8>(first))));
}

/// Up to kStepsOfTotal steps of kPairsAtOnce pairs, the `is_first` ones or more.
template <int kVectors>
HWY_INLINE void CountSteps(const uint8_t* nibbles, int64_t pixels, const uint8_t* pairs,
                           int64_t steps, bool is_first,
                           uint16_t (*sums)[kTableVectors * kTableLanes]) {
  PairSums<kVectors> total, upper;
#pragma GCC unroll 4
  for (int pair = 0; pair < kPairsAtOnce; ++pair) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) total[pair][v] = upper[pair][v] = hn::Zero(ByteD());
  }
  for (; steps >= kStepsOfPair; steps -= kStepsOfPair) {
    LookUp<kStepsOfPair>(nibbles, pixels, pairs, total, upper);
    nibbles += kStepsOfPair * pixels;
    pairs += kStepsOfPair * kTablePairs;
  }
  for (; steps > 0; --steps, nibbles += pixels, pairs += kTablePairs)
    LookUp<1>(nibbles, pixels, pairs, total, upper);
#pragma GCC unroll 4
  for (int pair = 0; pair < kPairsAtOnce; ++pair) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const auto second = SecondOf(total[pair][v], upper[pair][v]);
      const auto first = hn::Sub(total[pair][v], Times16(second));
      AddBytes(first, is_first, sums[2 * pair] + v * kTableLanes);
      AddBytes(second, is_first, sums[2 * pair + 1] + v * kTableLanes);
    }
  }
}

/// Eight sums of each pixel of a block, those of the second block `next` behind; or more to those
/// that are there.
template <class V>
HWY_INLINE void StoreSums(V row, bool is_first, int32_t* out, int64_t next) {
  const hn::Half<SumD> half;
  const hn::Rebind<uint32_t, decltype(half)> d;
  const auto store = [&](auto some, int32_t* to) HWY_ATTR {
    auto* at = reinterpret_cast<uint32_t*>(to);
    const auto v = hn::PromoteTo(d, some);
    hn::StoreU(is_first ? v : hn::Add(v, hn::LoadU(d, at)), d, at);
  };
  store(hn::LowerHalf(half, row), out);
  store(hn::UpperHalf(half, row), out + next);
}

/// kVectors vectors of pixels from `pixel` on.
template <int kVectors>
HWY_INLINE void CountPixels(const TableArgs& args, int64_t pixel) {
  HWY_ALIGN uint16_t sums[kBitOutputs][kTableVectors * kTableLanes];
  const SumD d;
  // Sums of u16 hold 65535 bits.
  constexpr int64_t kStepsOfSums = 16380;
  const int64_t steps = args.count * kNibbles;
  for (int64_t begin = 0; begin < steps; begin += kStepsOfSums) {
    const int64_t end = std::min(steps, begin + kStepsOfSums);
    for (int64_t i = begin; i < end; i += kStepsOfTotal) {
      for (int pair = 0; pair < kTablePairs; pair += kPairsAtOnce) {
        CountSteps<kVectors>(args.nibbles + i * args.pixels + pixel, args.pixels,
                             args.pairs + i * kTablePairs + pair,
                             std::min<int64_t>(kStepsOfTotal, end - i), i == begin,
                             sums + 2 * pair);
      }
    }
    // Pixels of a vector of sums: one block of eight, or two.
    constexpr int kPixels = static_cast<int>(hn::MaxLanes(d));
    const int64_t next = kPixels == 8 ? 4 : 8 * args.stride;
    for (int p = 0; p < kVectors * kTableLanes; p += kPixels) {
      hn::Vec<SumD> v[8];
      for (int o = 0; o < 8; ++o) v[o] = hn::Load(d, sums[o] + p);
      Transpose8(d, v);
      for (int k = 0; k < 8; ++k)
        StoreSums(v[k], begin == 0, args.sums + (pixel + p + k) * args.stride, next);
    }
  }
}

void CountByTablesOnTarget(const TableArgs& args) {
  constexpr int64_t kWhole = kTableVectors * kTableLanes;
  int64_t pixel = 0;
  for (; pixel + kWhole <= args.pixels; pixel += kWhole) CountPixels<kTableVectors>(args, pixel);
  for (; pixel < args.pixels; pixel += kTableLanes) CountPixels<1>(args, pixel);
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(TablePixelsOnTarget);
HWY_EXPORT(CountByTablesOnTarget);

int TablePixels() { return HWY_DYNAMIC_DISPATCH(TablePixelsOnTarget)(); }

void CountByTables(const TableArgs& args) { HWY_DYNAMIC_DISPATCH(CountByTablesOnTarget)(args); }

}  // namespace fettle::kernels
#endif
