#include "kernels/cpu/reduce/cumulate_rows.h"

#include <algorithm>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/reduce/cumulate_rows.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Mostly plain loops: the compiler makes vectors of this target of them.

/// Few columns without gaps: each element continues the one of the row before.
template <typename T>
void Continue(const CumulateBlock& block, const T* x, T* y) {
  const int64_t columns = block.columns, step = block.step, next = step > 0 ? 1 : -1;
  for (int64_t i = 0; i < columns; ++i) y[i] = block.exclusive ? T{0} : x[i];
  if (!block.exclusive) x += step;
  if (step < 0) x += columns - 1, y += columns - 1;
  for (int64_t left = (block.rows - 1) * columns; left > 0; --left, x += next, y += next)
    y[step] = *y + *x;
}

/// One column of `rows`, whose sum stays in a register.
template <bool exclusive, typename T, typename W>
HWY_INLINE void Line(const T* HWY_RESTRICT x, T* HWY_RESTRICT y, int64_t rows, int64_t step) {
  W sum{0};
  for (; rows > 0; --rows, x += step, y += step) {
    const W before = sum;
    sum += static_cast<W>(*x);
    *y = static_cast<T>(exclusive ? before : sum);
  }
}

/// Four rows at a time: the sums are loaded and stored once for them. Returns the rows done.
template <typename T, typename W>
int64_t CumulateFours(const CumulateBlock& block, const T* HWY_RESTRICT x, T* y,
                      W* HWY_RESTRICT sums) {
  const int64_t columns = block.columns, step = block.step;
  int64_t done = 0;
  for (; done + 4 < block.rows; done += 4, x += 4 * step, y += 4 * step) {
    const T *x1 = x + step, *x2 = x1 + step, *x3 = x2 + step;
    T *HWY_RESTRICT y0 = y + step, *HWY_RESTRICT y1 = y0 + step;
    T *HWY_RESTRICT y2 = y1 + step, *HWY_RESTRICT y3 = y2 + step;
    for (int64_t i = 0; i < columns; ++i) {
      const W s0 = sums[i] + static_cast<W>(x[i]), s1 = s0 + static_cast<W>(x1[i]);
      const W s2 = s1 + static_cast<W>(x2[i]), s3 = s2 + static_cast<W>(x3[i]);
      y0[i] = static_cast<T>(s0), y1[i] = static_cast<T>(s1);
      y2[i] = static_cast<T>(s2), y3[i] = static_cast<T>(s3);
      sums[i] = s3;
    }
  }
  return done;
}

/// Whether a vector of which some elements are left out is loaded and stored as fast as others.
constexpr bool kHasMasks = HWY_TARGET == HWY_AVX3;
/// Columns up to which their sums stay in registers, one vector of them after the other, and rows
/// from which that is faster: many where several vectors of 64 bits are loaded as they are.
constexpr int64_t kStripColumns = 16, kFewRows = 4, kManyRows = 16;

/// Neighbouring columns, at most as many as a vector of W has elements.
template <bool kExclusive, typename T, typename W>
HWY_INLINE void Strip(const CumulateBlock& block, const T* x, T* y, size_t columns) {
  const hn::ScalableTag<W> wide;
  const hn::Rebind<T, decltype(wide)> narrow;
  const auto mask = hn::FirstN(narrow, columns);
  auto sum = hn::Zero(wide);
  for (int64_t left = block.rows; left > 0; --left, x += block.step, y += block.step) {
    const auto before = sum;
    const auto row = hn::MaskedLoad(mask, narrow, x);
    if constexpr (std::is_same_v<T, W>) {
      sum = hn::Add(sum, row);
      hn::BlendedStore(kExclusive ? before : sum, mask, narrow, y);
    } else {
      sum = hn::Add(sum, hn::PromoteTo(wide, row));
      hn::BlendedStore(hn::DemoteTo(narrow, kExclusive ? before : sum), mask, narrow, y);
    }
  }
}

template <typename T, typename W>
void Strips(const CumulateBlock& block, const T* x, T* y) {
  constexpr int64_t kLanes = HWY_LANES(W);
  for (int64_t c = 0; c < block.columns; c += kLanes) {
    const auto columns = static_cast<size_t>(std::min(kLanes, block.columns - c));
    block.exclusive ? Strip<true, T, W>(block, x + c, y + c, columns)
                    : Strip<false, T, W>(block, x + c, y + c, columns);
  }
}

/// Whether Strips() is faster for the block.
template <typename T, typename W>
bool IsStrip(const CumulateBlock& block) {
  if (!kHasMasks || block.columns == 1 || block.columns > kStripColumns) return false;
  return block.rows >= (sizeof(T) == 8 && block.columns > HWY_LANES(W) ? kManyRows : kFewRows);
}

/// T is held as W.
template <typename T, typename W>
void Cumulate(const CumulateBlock& block, const T* x, T* y) {
  const int64_t columns = block.columns, step = block.step;
  if constexpr (kHasMasks) {
    if (IsStrip<T, W>(block)) return Strips<T, W>(block, x, y);
  }
  if (columns == 1 || (!std::is_same_v<T, W> && columns < 8 && block.rows < 16)) {
    for (int64_t i = 0; i < columns; ++i) {
      block.exclusive ? Line<true, T, W>(x + i, y + i, block.rows, step)
                      : Line<false, T, W>(x + i, y + i, block.rows, step);
    }
    return;
  }
  if constexpr (std::is_same_v<T, W>) {
    constexpr int64_t kFew = 8;
    if (columns < kFew && (step == columns || step == -columns)) return Continue(block, x, y);
  }
  W sums[kCumulateColumns];
  for (int64_t i = 0; i < columns; ++i) {
    sums[i] = block.exclusive ? W{0} : static_cast<W>(x[i]);
    y[i] = static_cast<T>(sums[i]);
  }
  if (!block.exclusive) x += step;
  int64_t r = 1;
  if constexpr (!std::is_same_v<T, W>) {
    const int64_t done = CumulateFours(block, x, y, sums);
    r += done, x += done * step, y += done * step;
  }
  for (; r < block.rows; ++r, x += step) {
    T* HWY_RESTRICT to = y + step;
    if constexpr (std::is_same_v<T, W>) {
      for (int64_t i = 0; i < columns; ++i) to[i] = y[i] + x[i];
    } else {
      for (int64_t i = 0; i < columns; ++i) {
        sums[i] += static_cast<W>(x[i]);
        to[i] = static_cast<T>(sums[i]);
      }
    }
    y = to;
  }
}

template <typename T, typename W>
void OfType(const CumulateBlock& block) {
  const T* x = reinterpret_cast<const T*>(block.x);
  T* y = reinterpret_cast<T*>(block.y);
  for (int64_t u = 0; u < block.units; ++u, x += block.unit_step, y += block.unit_step)
    Cumulate<T, W>(block, x, y);
}

void CumulateOnTarget(const CumulateBlock& block) {
  switch (block.storage) {
    case DType::kF32: return OfType<float, double>(block);
    case DType::kF64: return OfType<double, double>(block);
    case DType::kU32: return OfType<uint32_t, uint32_t>(block);
    default: return OfType<uint64_t, uint64_t>(block);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(CumulateOnTarget);

void CumulateRows(const CumulateBlock& block) { HWY_DYNAMIC_DISPATCH(CumulateOnTarget)(block); }

}  // namespace fettle::kernels
#endif
