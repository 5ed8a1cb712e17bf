// What is done with a panel of 16 bits an element, by the best instruction set at hand: few rows
// multiply it as they read it, for more it becomes floats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "tensor/dtype.h"

namespace fettle::kernels {

/// Rows of A that multiply a panel as it is read, at most.
inline constexpr int kMostHalfRows = 8;
/// Depth that is summed by itself, before it is added to what lies before it.
inline constexpr int64_t kHalfSlice = 256;

/// C[rows, columns] = clamp(bias + A * B + addend), of one panel, or of two where there is one row.
struct HalfRowsArgs {
  const float* a = nullptr;  // rows a_stride elements apart
  int64_t a_stride = 0;
  int64_t rows = 0;
  int64_t depth = 0;
  const std::byte* b = nullptr;  // [depth][nr]; what lies behind is fetched, and not used
  float* c = nullptr;
  int64_t c_stride = 0;
  int64_t columns = 0;            // 1 .. nr, or 2 nr of one row
  const float* bias = nullptr;    // for each column of the panels, or null for zero
  const float* addend = nullptr;  // lies as C does; or null
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
};

struct HalfKernels {
  int64_t most_rows = 0;
  /// rows[n] multiplies n rows, 1 .. most_rows.
  void (*rows[kMostHalfRows + 1])(const HalfRowsArgs&) = {};
  /// `count` elements, a multiple of nr, as floats.
  void (*widen)(const std::byte* from, int64_t count, float* out) = nullptr;
};

/// Of panels as wide as the micro-kernels' nr; `storage` is f16 or bf16.
const HalfKernels& GetHalfKernels(DType storage);

}  // namespace fettle::kernels
