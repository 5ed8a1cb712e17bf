#include "kernels/cpu/binary/chosen_sums.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/binary/chosen_sums.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using ChosenD = hn::CappedTag<float, 16>;
using ChosenV = hn::Vec<ChosenD>;
constexpr int kChosenLanes = static_cast<int>(hn::MaxLanes(ChosenD()));
constexpr int kChosenVectors = kChosenOutputs / kChosenLanes;
/// Where a mask is a register of its own, one addition chooses by itself.
constexpr bool kAddsByMask = HWY_TARGET <= HWY_AVX3;
/// Rows whose sums stay in registers.
constexpr int kMostRows = kAddsByMask ? 8 : 2;

/// Adds x to the sums of the outputs that `word` chooses, of each row.
template <int kRows>
HWY_INLINE void AddChosen(const uint32_t* word, const float* const* x, int64_t at,
                          ChosenV (&sums)[kRows][kChosenVectors]) {
  const ChosenD d;
  [[maybe_unused]] const hn::RebindToSigned<ChosenD> di;
#pragma GCC unroll 8
  for (int v = 0; v < kChosenVectors; ++v) {
#if HWY_TARGET <= HWY_AVX3
    const auto mask =
        hn::LoadMaskBits(d, reinterpret_cast<const uint8_t*>(word) + v * kChosenLanes / 8);
#else
    const auto bit = hn::Shl(hn::Set(di, 1), hn::Iota(di, v * kChosenLanes));
    const auto chosen = hn::TestBit(hn::Set(di, static_cast<int32_t>(*word)), bit);
    const auto mask = hn::MaskFromVec(hn::BitCast(d, hn::VecFromMask(di, chosen)));
#endif
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const auto number = hn::Set(d, x[r][at]);
      if constexpr (kAddsByMask) {
        sums[r][v] = hn::IfThenElse(mask, hn::Add(sums[r][v], number), sums[r][v]);
      } else {
        sums[r][v] = hn::Add(sums[r][v], hn::IfThenElseZero(mask, number));
      }
    }
  }
}

/// Few rows have several sums each, so that additions need not wait for each other.
template <int kRows>
HWY_INLINE void SumRows(const ChosenSums& args) {
  const ChosenD d;
  constexpr int kSums = kMostRows / kRows;
  ChosenV sums[kSums][kRows][kChosenVectors];
  for (int s = 0; s < kSums; ++s) {
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < kChosenVectors; ++v) sums[s][r][v] = hn::Zero(d);
    }
  }
  const uint32_t* words = args.words;
  for (int64_t tap = 0; tap < args.taps; ++tap) {
    const float* x[kRows];
    for (int r = 0; r < kRows; ++r) x[r] = args.rows[tap * args.count + r] + args.offset;
    int64_t i = 0;
    for (; i + kSums <= args.depth; i += kSums) {
#pragma GCC unroll 8
      for (int s = 0; s < kSums; ++s) AddChosen<kRows>(words + i + s, x, i + s, sums[s]);
    }
    for (; i < args.depth; ++i) AddChosen<kRows>(words + i, x, i, sums[0]);
    words += args.depth;
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kChosenVectors; ++v) {
      auto sum = sums[0][r][v];
      for (int s = 1; s < kSums; ++s) sum = hn::Add(sum, sums[s][r][v]);
      hn::StoreU(sum, d, args.sums + r * kChosenOutputs + v * kChosenLanes);
    }
  }
}

int ChosenRowsOnTarget() { return kMostRows; }

void SumChosenOnTarget(const ChosenSums& args) {
  if (args.count == 1) return SumRows<1>(args);
  if (args.count == 2) return SumRows<2>(args);
#if HWY_TARGET <= HWY_AVX3
  switch (args.count) {
    case 3: return SumRows<3>(args);
    case 4: return SumRows<4>(args);
    case 5: return SumRows<5>(args);
    case 6: return SumRows<6>(args);
    case 7: return SumRows<7>(args);
    default: return SumRows<8>(args);
  }
#endif
}

/// One row's results of a panel, from `sums` on.
HWY_INLINE void FinishRow(const ChosenResults& to, const float* sums, float total, float* y) {
  const ChosenD d;
  const auto low = hn::Set(d, to.clamp.low), high = hn::Set(d, to.clamp.high);
  for (int o = 0; o < kChosenOutputs; o += kChosenLanes) {
    const auto at = [&](const float* numbers) HWY_ATTR { return hn::LoadU(d, numbers + o); };
    auto v = hn::MulAdd(at(to.numbers), at(sums),
                        hn::MulAdd(at(to.numbers + kChosenOutputs), hn::Set(d, total),
                                   at(to.numbers + 2 * kChosenOutputs)));
    // A NaN is below and above nothing: it passes.
    v = hn::IfThenElse(hn::Lt(v, low), low, v);
    hn::StoreU(hn::IfThenElse(hn::Gt(v, high), high, v), d, y + o);
  }
}

void StoreChosenOnTarget(const ChosenResults& to, const float* sums, int rows) {
  for (int r = 0; r < rows; ++r, sums += kChosenOutputs) {
    float* y = to.y + r * to.stride;
    if (to.columns == kChosenOutputs) {
      FinishRow(to, sums, to.totals[r], y);
      continue;
    }
    float results[kChosenOutputs];
    FinishRow(to, sums, to.totals[r], results);
    std::copy_n(results, to.columns, y);
  }
}

void SumAllOnTarget(const ChosenSums& args, float* totals) {
  const ChosenD d;
  for (int r = 0; r < args.count; ++r) {
    auto sum = hn::Zero(d);
    float rest = 0;
    for (int64_t tap = 0; tap < args.taps; ++tap) {
      const float* x = args.rows[tap * args.count + r] + args.offset;
      int64_t i = 0;
      for (; i + kChosenLanes <= args.depth; i += kChosenLanes)
        sum = hn::Add(sum, hn::LoadU(d, x + i));
      for (; i < args.depth; ++i) rest += x[i];
    }
    totals[r] = hn::GetLane(hn::SumOfLanes(d, sum)) + rest;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(ChosenRowsOnTarget);
HWY_EXPORT(SumChosenOnTarget);
HWY_EXPORT(SumAllOnTarget);
HWY_EXPORT(StoreChosenOnTarget);

int ChosenRows() { return HWY_DYNAMIC_DISPATCH(ChosenRowsOnTarget)(); }
void SumChosen(const ChosenSums& args) { HWY_DYNAMIC_DISPATCH(SumChosenOnTarget)(args); }
void SumAll(const ChosenSums& args, float* totals) {
  HWY_DYNAMIC_DISPATCH(SumAllOnTarget)(args, totals);
}
void StoreChosen(const ChosenResults& to, const float* sums, int rows) {
  HWY_DYNAMIC_DISPATCH(StoreChosenOnTarget)(to, sums, rows);
}

}  // namespace fettle::kernels
#endif
