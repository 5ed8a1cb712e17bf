// Rows of a cache in bytes: signed codes, and behind them a float by which all of them count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tensor/dtype.h"

namespace fettle::ops {

inline constexpr int64_t kStepBytes = 4;

/// Elements of a row of `size` numbers in a cache of this type.
constexpr int64_t StoredSize(DType cache, int64_t size) {
  return cache == DType::kI8 ? size + kStepBytes : size;
}

inline float StepOf(const std::byte* row, int64_t size) {
  float step = 0;
  std::memcpy(&step, row + size, sizeof(step));
  return step;
}

/// Codes are the nearest to x / step, the step a 127th of the greatest magnitude; NaN where a
/// number is not finite, so that all of the row is. `row`: size + kStepBytes bytes.
void RoundByteRow(const float* x, int64_t size, std::byte* row);

}  // namespace fettle::ops
