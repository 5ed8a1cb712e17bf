// What is done with a panel of 16 bits an element, by the best instruction set at hand: few rows
// multiply it as they read it, for more it becomes floats.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/product/panel_source.h"
#include "tensor/dtype.h"

namespace fettle::kernels {

/// Rows of A that multiply a panel as it is read, at most.
inline constexpr int kMostHalfRows = 8;
/// Depth that is summed by itself, before it is added to what lies before it.
inline constexpr int64_t kHalfSlice = PanelSource::kSliceRows;

/// Of one panel, or of two where there is one row: 1 .. nr columns, or 2 nr.
struct HalfRowsArgs : RowsByPanel {
  int64_t depth = 0;
  const std::byte* b = nullptr;  // [depth][nr]; what lies behind is fetched, and not used
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
