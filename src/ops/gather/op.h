// Gather and scatter operators: index checks that oracle and kernels share.
#pragma once

#include <type_traits>

#include "base/status.h"
#include "ir/graph.h"
#include "tensor/dtype.h"

namespace fettle::ops {

enum class Reduction { kNone, kAdd, kMul, kMax, kMin };

/// Attribute 'reduction' of the scatter operators. Fails with kInvalidModel on other words.
Result<Reduction> ReadReduction(const ir::Node& node);

/// What a scatter stores where `update` meets `old`. Integers wrap.
template <typename T>
T Reduce(Reduction reduction, T old, T update) {
  const Wide<T> a = Widen(old), b = Widen(update);
  using Sum = std::conditional_t<kIsFloating<T>, double, uint64_t>;
  switch (reduction) {
    case Reduction::kNone: return update;
    case Reduction::kAdd: return Narrow<T>(static_cast<Sum>(a) + static_cast<Sum>(b));
    case Reduction::kMul: return Narrow<T>(static_cast<Sum>(a) * static_cast<Sum>(b));
    case Reduction::kMax: return a < b ? update : old;
    case Reduction::kMin: return b < a ? update : old;
  }
  return update;
}

/// The failure for an index outside [-extent, extent).
Status IndexOutOfRange(int64_t index, int64_t extent);

/// `index` in [0, extent), or -1 where it is out of range.
inline int64_t NormaliseIndex(int64_t index, int64_t extent) {
  if (index < 0) index += extent;
  return index >= 0 && index < extent ? index : -1;
}

}  // namespace fettle::ops
