// Zeros for memory that kernels write.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace fettle::kernels {

/// Writes `count` zeros. std::fill_n of files compiled for size is a loop over elements, which
/// takes up to ten times as long.
template <typename T>
void FillZeros(T* to, int64_t count) {
  static_assert(std::is_arithmetic_v<T>);
  if (count > 0) std::memset(to, 0, static_cast<size_t>(count) * sizeof(T));
}

}  // namespace fettle::kernels
