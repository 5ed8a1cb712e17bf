// compiled: by hand
#include "kernels/cpu/reduce/fold.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/reduce/fold.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

#include "kernels/cpu/simd/load-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {

constexpr float NeutralOf(FoldKind kind) {
  switch (kind) {
    case FoldKind::kProd: return 1;
    case FoldKind::kMax: return -std::numeric_limits<float>::infinity();
    case FoldKind::kMin: return std::numeric_limits<float>::infinity();
    default: return 0;
  }
}

/// sum, joined with the element x. NaN wins in extremes.
template <FoldKind kind, class V>
HWY_INLINE V Step(V sum, V x) {
  if constexpr (kind == FoldKind::kSumAbs) return hn::Add(sum, hn::Abs(x));
  if constexpr (kind == FoldKind::kSumSquare) return hn::MulAdd(x, x, sum);
  if constexpr (kind == FoldKind::kProd) return hn::Mul(sum, x);
  if constexpr (kind == FoldKind::kMax)
    return hn::IfThenElse(hn::Or(hn::Lt(x, sum), hn::IsNaN(sum)), sum, x);
  if constexpr (kind == FoldKind::kMin)
    return hn::IfThenElse(hn::Or(hn::Lt(sum, x), hn::IsNaN(sum)), sum, x);
  return hn::Add(sum, x);
}
/// Two partial results.
template <FoldKind kind, class V>
HWY_INLINE V Join(V a, V b) {
  constexpr bool is_sum = kind == FoldKind::kSumAbs || kind == FoldKind::kSumSquare;
  return Step < is_sum ? FoldKind::kSum : kind > (a, b);
}
/// Sums of floats have more loops than what is rarer.
template <FoldKind kind, typename T>
constexpr bool kIsFrequent = std::is_same_v<T, float> &&
                             (kind == FoldKind::kSum || kind == FoldKind::kSumSquare);

/// All lanes as one, half by half.
template <FoldKind kind, class D, class V>
HWY_INLINE float JoinLanes([[maybe_unused]] D d, V x) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (hn::MaxLanes(d) > 1) {
    const hn::Half<D> half;
    return JoinLanes<kind>(half, Join<kind>(hn::LowerHalf(half, x), hn::UpperHalf(half, x)));
  }
#endif
  return hn::GetLane(x);
}

/// An extreme of one contiguous row. That all are numbers is noted apart: the instructions for
/// extremes lose NaN.
template <FoldKind kind, typename T>
float ExtremeOfRow(const T* from, int64_t n) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto neutral = hn::Set(d, NeutralOf(kind));
  auto s0 = neutral, s1 = neutral, s2 = neutral, s3 = neutral;
  auto numbers = hn::Eq(neutral, neutral);
  const auto step = [&](auto held, auto x) HWY_ATTR {
    if constexpr (std::is_same_v<T, float>) numbers = hn::And(numbers, hn::Eq(x, x));
    return kind == FoldKind::kMax ? hn::Max(held, x) : hn::Min(held, x);
  };
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    s0 = step(s0, LoadFloats(d, from + i));
    s1 = step(s1, LoadFloats(d, from + i + lanes));
    s2 = step(s2, LoadFloats(d, from + i + 2 * lanes));
    s3 = step(s3, LoadFloats(d, from + i + 3 * lanes));
  }
  for (; i + lanes <= n; i += lanes) s0 = step(s0, LoadFloats(d, from + i));
  if (i < n) {
    const auto some = LoadSomeFloats(d, from + i, n - i);
    s1 = step(s1, hn::IfThenElse(hn::FirstN(d, n - i), some, neutral));
  }
  if (!hn::AllTrue(d, numbers)) return std::numeric_limits<float>::quiet_NaN();
  if constexpr (kind == FoldKind::kMax) {
    return hn::GetLane(hn::MaxOfLanes(d, hn::Max(hn::Max(s0, s1), hn::Max(s2, s3))));
  } else {
    return hn::GetLane(hn::MinOfLanes(d, hn::Min(hn::Min(s0, s1), hn::Min(s2, s3))));
  }
}

/// One contiguous row.
template <FoldKind kind, typename T>
float FoldRow(const T* from, int64_t n) {
  if constexpr (kind == FoldKind::kMax || kind == FoldKind::kMin)
    return ExtremeOfRow<kind>(from, n);
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto neutral = hn::Set(d, NeutralOf(kind));
  auto s0 = neutral, s1 = neutral, s2 = neutral, s3 = neutral;
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    s0 = Step<kind>(s0, LoadFloats(d, from + i));
    s1 = Step<kind>(s1, LoadFloats(d, from + i + lanes));
    s2 = Step<kind>(s2, LoadFloats(d, from + i + 2 * lanes));
    s3 = Step<kind>(s3, LoadFloats(d, from + i + 3 * lanes));
  }
  for (; i + lanes <= n; i += lanes) s0 = Step<kind>(s0, LoadFloats(d, from + i));
  if (i < n) {
    const auto some = hn::FirstN(d, n - i);
    s1 = hn::IfThenElse(some, Step<kind>(s1, LoadSomeFloats(d, from + i, n - i)), s1);
  }
  return JoinLanes<kind>(d, Join<kind>(Join<kind>(s0, s1), Join<kind>(s2, s3)));
}

/// `vectors` vectors of neighbouring columns.
template <FoldKind kind, int vectors, typename T>
HWY_INLINE void FoldColumns(const FoldBlock& block, const T* from, int64_t count, float* to) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto neutral = hn::Set(d, NeutralOf(kind));
  auto s0 = neutral, s1 = neutral, s2 = neutral, s3 = neutral;
  const bool some = vectors == 1 && count < lanes;
  for (int64_t r = 0; r < block.row; ++r, from += block.inner_stride) {
    s0 = Step<kind>(s0, some ? LoadSomeFloats(d, from, count) : LoadFloats(d, from));
    if constexpr (vectors == 4) {
      s1 = Step<kind>(s1, LoadFloats(d, from + lanes));
      s2 = Step<kind>(s2, LoadFloats(d, from + 2 * lanes));
      s3 = Step<kind>(s3, LoadFloats(d, from + 3 * lanes));
    }
  }
  if (some) {
    StoreSomeFloats(d, s0, to, count);
    return;
  }
  hn::StoreU(s0, d, to);
  if constexpr (vectors == 4) {
    hn::StoreU(s1, d, to + lanes);
    hn::StoreU(s2, d, to + 2 * lanes);
    hn::StoreU(s3, d, to + 3 * lanes);
  }
}

/// All whole vectors of columns: a few rows at a time, which are read from end to end, join the
/// folds in memory, in order. Returns how many columns these are.
template <FoldKind kind, typename T>
int64_t FoldLines(const FoldBlock& block, const T* from, float* to) {
  constexpr int64_t kLines = 4;
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t whole = block.inner / lanes * lanes, stride = block.inner_stride;
  const auto neutral = hn::Set(d, NeutralOf(kind));
  for (int64_t i = 0; i < whole; i += lanes) hn::StoreU(neutral, d, to + i);
  int64_t r = 0;
  for (; r + kLines <= block.row; r += kLines, from += kLines * stride) {
#pragma GCC unroll 1
    for (int64_t i = 0; i < whole; i += lanes) {
      auto sum = Step<kind>(hn::LoadU(d, to + i), LoadFloats(d, from + i));
      sum = Step<kind>(sum, LoadFloats(d, from + stride + i));
      sum = Step<kind>(sum, LoadFloats(d, from + 2 * stride + i));
      hn::StoreU(Step<kind>(sum, LoadFloats(d, from + 3 * stride + i)), d, to + i);
    }
  }
  for (; r < block.row; ++r, from += stride) {
#pragma GCC unroll 1
    for (int64_t i = 0; i < whole; i += lanes)
      hn::StoreU(Step<kind>(hn::LoadU(d, to + i), LoadFloats(d, from + i)), d, to + i);
  }
  return whole;
}

#if HWY_TARGET != HWY_SCALAR
/// As many short contiguous rows as a vector has lanes, of at most two vectors each: their lanes
/// are summed neighbour by neighbour, those of all rows at once.
[[gnu::noinline]] void SumShortRows(const float* from, int64_t n, bool squares, float* to) {
  const hn::ScalableTag<float> d;
  constexpr int64_t lanes = hn::MaxLanes(d);
  const int64_t first = std::min(n, lanes), rest = n - first;
  const auto load = [&](const float* x, int64_t count) HWY_ATTR {
    const auto v = LoadSomeFloats(d, x, count);
    return squares ? hn::Mul(v, v) : v;
  };
  HWY_ALIGN float held[lanes * lanes];
#pragma GCC unroll 1
  for (int64_t k = 0; k < lanes; ++k, from += n) {
    auto x = load(from, first);
    if (rest > 0) x = hn::Add(x, load(from + first, rest));
    hn::Store(x, d, held + k * lanes);
  }
#pragma GCC unroll 1
  for (int64_t count = lanes; count > 1; count /= 2) {
#pragma GCC unroll 1
    for (int64_t k = 0; k < count; k += 2) {
      const auto a = hn::Load(d, held + k * lanes), b = hn::Load(d, held + (k + 1) * lanes);
      hn::Store(hn::Add(hn::ConcatEven(d, b, a), hn::ConcatOdd(d, b, a)), d, held + k / 2 * lanes);
    }
  }
  hn::StoreU(hn::Load(d, held), d, to);
}

/// Rows of two for as many whole vectors of sums as `rows` has; the number of these sums.
int64_t SumPairs(const float* from, int64_t rows, bool squares, float* to) {
  const hn::ScalableTag<float> d;
  constexpr int64_t lanes = hn::MaxLanes(d);
  int64_t k = 0;
  for (; k + lanes <= rows; k += lanes, from += 2 * lanes) {
    auto a = hn::LoadU(d, from), b = hn::LoadU(d, from + lanes);
    if (squares) a = hn::Mul(a, a), b = hn::Mul(b, b);
    hn::StoreU(hn::Add(hn::ConcatEven(d, b, a), hn::ConcatOdd(d, b, a)), d, to + k);
  }
  return k;
}
#endif

template <FoldKind kind, typename T>
void FoldRows(const FoldBlock& block, const T* from, float* to) {
  int64_t k = 0;
#if HWY_TARGET != HWY_SCALAR
  if constexpr (kIsFrequent<kind, T>) {
    constexpr int64_t lanes = hn::MaxLanes(hn::ScalableTag<float>());
    constexpr bool squares = kind == FoldKind::kSumSquare;
    if (block.row == 2) k = SumPairs(from, block.rows, squares, to);
    const bool is_short = block.row > 0 && block.row <= 2 * lanes;
    for (; is_short && k + lanes <= block.rows; k += lanes)
      SumShortRows(from + k * block.row, block.row, squares, to + k);
  }
#endif
  // What is empty may lie nowhere.
  for (; k < block.rows; ++k)
    to[k] = FoldRow<kind>(from == nullptr ? from : from + k * block.row, block.row);
}

template <FoldKind kind, typename T>
void FoldTyped(const FoldBlock& block, float* to) {
  const T* from = reinterpret_cast<const T*>(block.from);
  if (block.inner_stride == 1) return FoldRows<kind>(block, from, to);
  // What is empty may lie nowhere.
  const auto at = [from](int64_t offset) { return from == nullptr ? from : from + offset; };
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<float>()));
  int64_t i = 0;
  if constexpr (std::is_same_v<T, float> && HWY_TARGET != HWY_SCALAR) {
    constexpr int64_t kFewLines = 8;
    if (block.inner >= 8 * lanes && block.row >= kFewLines) i = FoldLines<kind>(block, from, to);
  }
  for (; i + 4 * lanes <= block.inner; i += 4 * lanes)
    FoldColumns<kind, 4>(block, at(i), lanes, to + i);
  for (; i < block.inner; i += lanes)
    FoldColumns<kind, 1>(block, at(i), std::min(lanes, block.inner - i), to + i);
}

template <typename T>
void FoldKinds(const FoldBlock& block, float* to) {
  switch (block.kind) {
    case FoldKind::kMax: return FoldTyped<FoldKind::kMax, T>(block, to);
    case FoldKind::kMin: return FoldTyped<FoldKind::kMin, T>(block, to);
    default: break;
  }
  if constexpr (std::is_same_v<T, float>) {
    if (block.kind == FoldKind::kSumAbs) return FoldTyped<FoldKind::kSumAbs, T>(block, to);
    if (block.kind == FoldKind::kSumSquare) return FoldTyped<FoldKind::kSumSquare, T>(block, to);
    if (block.kind == FoldKind::kProd) return FoldTyped<FoldKind::kProd, T>(block, to);
  }
  FoldTyped<FoldKind::kSum, T>(block, to);
}

void FoldOnTarget(const FoldBlock& all, float* to) {
  FoldBlock block = all;
  const int64_t step = all.row * all.inner_stride * (all.storage == DType::kF32 ? 4 : 1);
  // Single columns follow each other in one call.
  const int64_t blocks = all.inner_stride == 1 ? 1 : all.rows;
  for (int64_t k = 0; k < blocks; ++k, to += all.inner, block.from += step) {
    switch (block.storage) {
      case DType::kU8: FoldKinds<uint8_t>(block, to); break;
      case DType::kI8: FoldKinds<int8_t>(block, to); break;
      default: FoldKinds<float>(block, to);
    }
  }
}

void EndOnTarget(FoldEnd end, int64_t row, float* values, int64_t n) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto count = hn::Set(d, static_cast<float>(row));
#pragma GCC unroll 1
  for (int64_t i = 0; i < n; i += lanes) {
    const int64_t left = std::min(lanes, n - i);
    auto x = left < lanes ? LoadSomeFloats(d, values + i, left) : hn::LoadU(d, values + i);
    x = end == FoldEnd::kMean ? hn::Div(x, count) : hn::Sqrt(x);
    left < lanes ? StoreSomeFloats(d, x, values + i, left) : hn::StoreU(x, d, values + i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(FoldOnTarget);
HWY_EXPORT(EndOnTarget);

void Fold(const FoldBlock& block, float* to) { HWY_DYNAMIC_DISPATCH(FoldOnTarget)(block, to); }

void EndFolds(FoldEnd end, int64_t row, float* values, int64_t n) {
  if (end == FoldEnd::kNone) return;
  if (end != FoldEnd::kLog) return HWY_DYNAMIC_DISPATCH(EndOnTarget)(end, row, values, n);
  for (int64_t i = 0; i < n; ++i) values[i] = std::log(values[i]);
}

void FoldParts(FoldKind kind, const float* parts, int64_t count, int64_t inner, float* to) {
  const bool is_sum = kind == FoldKind::kSumAbs || kind == FoldKind::kSumSquare;
  Fold({.kind = is_sum ? FoldKind::kSum : kind,
        .from = reinterpret_cast<const std::byte*>(parts),
        .row = count,
        .inner = inner,
        .inner_stride = inner},
       to);
}

}  // namespace fettle::kernels
#endif
