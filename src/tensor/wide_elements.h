// Elements of any numeric type on their way to any other: code for each pair of types would be 225
// functions.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace fettle {

/// Elements that are converted at once: numbers of the type that WideDispatch names, as their bits.
inline constexpr size_t kWideElements = 64;
struct WideElements {
  uint64_t bits[kWideElements];

  template <typename W>
  W As(size_t i) const {
    return std::bit_cast<W>(bits[i]);
  }
};

/// Calls `f.template operator()<W>()` with what the numbers of `dtype` fit into without a change:
/// double, int64_t or uint64_t. A bool is 0 or 1.
template <typename F>
void WideDispatch(DType dtype, F&& f) {
  if (IsFloat(dtype)) return f.template operator()<double>();
  if (IsSigned(dtype)) return f.template operator()<int64_t>();
  f.template operator()<uint64_t>();
}

/// The elements at[0], at[1] ... at[count - 1] of `data`, at most kWideElements.
void ReadWide(DType dtype, const std::byte* data, const int64_t* at, size_t count,
              WideElements& wide);

}  // namespace fettle
