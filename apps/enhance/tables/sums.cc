// Sums of samples, and chroma times factors, for each instruction set.
#include "tables/sums.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tables/sums.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace fettle::enhance {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Left to the compiler, which has this instruction set, too.
void SumThreeRows(const uint8_t* HWY_RESTRICT above, const uint8_t* HWY_RESTRICT here,
                  const uint8_t* HWY_RESTRICT below, int width, uint16_t* HWY_RESTRICT sums) {
  for (int x = 0; x < width; ++x)
    sums[x] = static_cast<uint16_t>(above[x] + 2 * here[x] + below[x]);
}

/// Of the samples from `begin` to `end` of some rows.
uint64_t SumOfBlock(const uint8_t* from, ptrdiff_t stride, int rows, int begin, int end) {
  uint64_t sum = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<uint8_t> bytes;
  const hn::Repartition<uint64_t, decltype(bytes)> words;
  const int lanes = static_cast<int>(hn::Lanes(bytes));
  auto sums = hn::Zero(words);
  for (; begin + lanes <= end; begin += lanes)
    for (int y = 0; y < rows; ++y)
      sums = hn::Add(sums, hn::SumsOf8(hn::LoadU(bytes, from + y * stride + begin)));
  sum = hn::GetLane(hn::SumOfLanes(words, sums));
#endif
  for (int y = 0; y < rows; ++y)
    for (int x = begin; x < end; ++x) sum += from[y * stride + x];
  return sum;
}

void SumCellsOfBytes(const uint8_t* from, ptrdiff_t stride, int rows, int width, int cell,
                     uint64_t* sums) {
  for (int x = 0; x < width; x += cell)
    *sums++ = SumOfBlock(from, stride, rows, x, std::min(x + cell, width));
}

/// A sample of chroma whose factor is the cell's at `place` (of 32768) in it.
HWY_INLINE uint8_t ScaledOne(int level, ChromaFactor factor, int place) {
  const auto rounded = [](int a, int b) { return (a * b + (1 << 14)) >> 15; };
  const int scaled = rounded((level - 128) * 4, factor.start + rounded(factor.rise, place)) + 128;
  return static_cast<uint8_t>(std::clamp(scaled, 0, 255));
}

#if HWY_TARGET != HWY_SCALAR

/// Samples from `x` on to the last whole vector before `end`; returns where that ends. Factors are
/// found once for all rows.
int ScaleVectors(const ChromaRow* rows, int count, ChromaFactor factor, int x, int end, int step) {
  const hn::ScalableTag<int16_t> s;
  const hn::Rebind<uint8_t, decltype(s)> bytes;
  const int lanes = static_cast<int>(hn::Lanes(s));
  const auto grey = hn::Set(s, 128);
  const auto start = hn::Set(s, factor.start), rise = hn::Set(s, factor.rise);
  auto place = hn::Mul(hn::Iota(s, 0), hn::Set(s, static_cast<int16_t>(step)));
  for (; x + lanes <= end; x += lanes) {
    const auto by = hn::Add(start, hn::MulFixedPoint15(rise, place));
    for (int i = 0; i < count; ++i) {
      const auto away = hn::Sub(hn::PromoteTo(s, hn::LoadU(bytes, rows[i].from + x)), grey);
      const auto scaled = hn::MulFixedPoint15(hn::ShiftLeft<2>(away), by);
      hn::StoreU(hn::DemoteTo(bytes, hn::Add(scaled, grey)), bytes, rows[i].to + x);
    }
    place = hn::Add(place, hn::Set(s, static_cast<int16_t>(lanes * step)));
  }
  return x;
}

#endif

void ScaleChromaRows(const ChromaRow* rows, int count, int width, const ChromaFactor* factors,
                     int cell) {
  const int step = 32768 / cell;
  for (int begin = 0; begin < width; begin += cell, ++factors) {
    const int end = std::min(begin + cell, width);
    int x = begin;
#if HWY_TARGET != HWY_SCALAR
    x = ScaleVectors(rows, count, *factors, x, end, step);
#endif
    for (int i = 0; i < count; ++i)
      for (int at = x; at < end; ++at)
        rows[i].to[at] = ScaledOne(rows[i].from[at], *factors, (at - begin) * step);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::enhance
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::enhance {

HWY_EXPORT(SumThreeRows);
HWY_EXPORT(SumCellsOfBytes);
HWY_EXPORT(ScaleChromaRows);

void SumRows(const uint8_t* above, const uint8_t* here, const uint8_t* below, int width,
             uint16_t* sums) {
  HWY_DYNAMIC_DISPATCH(SumThreeRows)(above, here, below, width, sums);
}

void SumCells(const uint8_t* from, ptrdiff_t stride, int rows, int width, int cell,
              uint64_t* sums) {
  HWY_DYNAMIC_DISPATCH(SumCellsOfBytes)(from, stride, rows, width, cell, sums);
}

void ScaleChroma(const ChromaRow* rows, int count, int width, const ChromaFactor* factors,
                 int cell) {
  HWY_DYNAMIC_DISPATCH(ScaleChromaRows)(rows, count, width, factors, cell);
}

}  // namespace fettle::enhance
#endif
