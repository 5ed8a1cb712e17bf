// Running sums of rows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace fettle::kernels {

/// Columns that are summed up side by side at most.
inline constexpr int64_t kCumulateColumns = 1024;

/// `units` tensors of `rows` rows of `columns` elements of f32 (held in double), f64, u32 or u64: a
/// row lies `step` elements after the one before, in the order in which they are summed up, a unit
/// `unit_step` after the one before. x and y do not overlap.
struct CumulateBlock {
  DType storage;
  bool exclusive;
  const std::byte* x;
  std::byte* y;
  int64_t rows, columns, step;
  int64_t units = 1, unit_step = 0;
};

/// y = the sums of x from the first row on, with the row itself or, exclusive,
/// without.
void CumulateRows(const CumulateBlock& block);

}  // namespace fettle::kernels
