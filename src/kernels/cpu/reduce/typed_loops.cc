#include "kernels/cpu/reduce/typed_loops.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

namespace fettle::kernels {
namespace {

/// What T is summed up in; extremes stay T.
template <typename T, FoldKind kFold>
using Held = std::conditional_t<kFold == FoldKind::kMax || kFold == FoldKind::kMin, T,
                                std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>>;

template <typename T, FoldKind kFold>
constexpr Held<T, kFold> Neutral() {
  using Limits = std::numeric_limits<T>;
  if constexpr (kFold == FoldKind::kProd) return 1;
  if constexpr (kFold == FoldKind::kMax)
    return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  if constexpr (kFold == FoldKind::kMin)
    return Limits::has_infinity ? Limits::infinity() : Limits::max();
  return 0;
}

template <typename T, FoldKind kFold>
Held<T, kFold> Step(Held<T, kFold> sum, T x) {
  using W = Held<T, kFold>;
  if constexpr (kFold == FoldKind::kMax) return sum != sum || sum > x ? sum : x;  // NaN wins
  if constexpr (kFold == FoldKind::kMin) return sum != sum || sum < x ? sum : x;
  const W v = static_cast<W>(x);
  if constexpr (kFold == FoldKind::kSumAbs && std::is_floating_point_v<T>) return sum + std::abs(v);
  if constexpr (kFold == FoldKind::kSumAbs) return x < T{0} ? sum - v : sum + v;
  if constexpr (kFold == FoldKind::kSumSquare) return sum + v * v;
  if constexpr (kFold == FoldKind::kProd) return sum * v;
  return sum + v;
}

/// Whether rows are folded by functions of vectors.
template <typename T, FoldKind kFold>
constexpr bool kInVectors = std::is_same_v<T, float> ||
                            (std::is_integral_v<T> &&
                             (kFold == FoldKind::kMax || kFold == FoldKind::kMin));

/// Partial results: absolute values and squares were taken before.
constexpr FoldKind PartsOf(FoldKind fold) {
  return fold == FoldKind::kSumAbs || fold == FoldKind::kSumSquare ? FoldKind::kSum : fold;
}

/// The stored result.
template <typename T, typename W>
T Finished(W folded, TypedFinish finish, int64_t count) {
  if (finish == nullptr) return static_cast<T>(folded);
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(finish(folded, static_cast<double>(count)));
  } else {
    using Sum = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
    const double value =
        finish(static_cast<double>(static_cast<Sum>(folded)), static_cast<double>(count));
    return static_cast<T>(std::isfinite(value) ? static_cast<int64_t>(value) : 0);
  }
}

template <typename T, FoldKind kFold>
struct LoopsOf {
  using W = Held<T, kFold>;
  static void Fill(std::byte* held, int64_t columns) {
    std::fill_n(reinterpret_cast<W*>(held), columns, Neutral<T, kFold>());
  }
  static void Add(const std::byte* from, int64_t n, int64_t stride, int64_t columns,
                  std::byte* to) {
    W* held = reinterpret_cast<W*>(to);
    if constexpr (kInVectors<T, kFold>) {
      T parts[kTypedColumns];
      const FoldBlock block{.kind = kFold,
                            .storage = DTypeOf<T>(),
                            .from = from,
                            .row = n,
                            .inner = columns,
                            .inner_stride = stride};
      if constexpr (std::is_same_v<T, float>) {
        Fold(block, parts);
      } else {
        FoldExtremes(block, reinterpret_cast<std::byte*>(parts));
      }
      for (int64_t i = 0; i < columns; ++i) held[i] = Step<T, PartsOf(kFold)>(held[i], parts[i]);
    } else {
      const T* x = reinterpret_cast<const T*>(from);
      for (int64_t r = 0; r < n; ++r, x += stride) {
        for (int64_t i = 0; i < columns; ++i) held[i] = Step<T, kFold>(held[i], x[i]);
      }
    }
  }
  static void Join(std::byte* both, int64_t columns) {
    W* held = reinterpret_cast<W*>(both);
    for (int64_t i = 0; i < columns; ++i)
      held[i] = Step<W, PartsOf(kFold)>(held[i], held[i + columns]);
  }
  static void Finish(const std::byte* from, int64_t columns, TypedFinish finish, int64_t count,
                     std::byte* y) {
    const W* held = reinterpret_cast<const W*>(from);
    for (int64_t i = 0; i < columns; ++i)
      reinterpret_cast<T*>(y)[i] = Finished<T>(held[i], finish, count);
  }
  static constexpr TypedLoops kLoops{Fill, Add, Join, Finish, kInVectors<T, kFold>};
};

template <typename T>
const TypedLoops* FindExtremes(FoldKind fold) {
  return fold == FoldKind::kMax ? &LoopsOf<T, FoldKind::kMax>::kLoops
                                : &LoopsOf<T, FoldKind::kMin>::kLoops;
}
template <typename T>
const TypedLoops* FindTypedLoops(FoldKind fold) {
  switch (fold) {
    case FoldKind::kSum: return &LoopsOf<T, FoldKind::kSum>::kLoops;
    case FoldKind::kSumAbs: return &LoopsOf<T, FoldKind::kSumAbs>::kLoops;
    case FoldKind::kSumSquare: return &LoopsOf<T, FoldKind::kSumSquare>::kLoops;
    case FoldKind::kProd: return &LoopsOf<T, FoldKind::kProd>::kLoops;
    default: return FindExtremes<T>(fold);
  }
}
}  // namespace

const TypedLoops* FindTypedLoops(DType storage, FoldKind fold) {
  switch (storage) {
    case DType::kF32: return FindTypedLoops<float>(fold);
    case DType::kF64: return FindTypedLoops<double>(fold);
    case DType::kI32: return FindTypedLoops<int32_t>(fold);
    case DType::kI64: return FindTypedLoops<int64_t>(fold);
    case DType::kI8: return FindExtremes<int8_t>(fold);
    default: return FindExtremes<uint8_t>(fold);
  }
}

}  // namespace fettle::kernels
