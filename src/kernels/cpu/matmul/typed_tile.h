// Products of matrices of doubles and of integers of 32 and 64 bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace fettle::kernels {

/// C = A * B of one block. Elements are of one type; integers wrap. Rows of B and C lie together.
struct TypedBlock {
  int64_t rows = 0, columns = 0, depth = 0;
  const std::byte* a = nullptr;
  int64_t a_row = 0, a_step = 1;  // elements from row to row, and along the depth
  const std::byte* b = nullptr;
  int64_t b_row = 0;
  std::byte* c = nullptr;
  int64_t c_row = 0;
  bool adds = false;  // to what C holds
};

/// Columns of a block that are computed at once.
inline constexpr int64_t kTypedPanel = 64;

using TypedTile = void (*)(const TypedBlock&);
/// f64, i32, u32, i64 or u64; null for other types.
TypedTile FindTypedTile(DType dtype);

}  // namespace fettle::kernels
