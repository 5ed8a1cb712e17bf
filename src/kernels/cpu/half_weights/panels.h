// Matrices of 16 bits an element as panels of columns.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/gemm/pack.h"
#include "tensor/tensor.h"

namespace fettle::kernels {

/// [panel][k][nr] elements of `storage`, f16 or bf16; missing columns are zero. Of a matrix
/// [k, n], or [n, k] where it is transposed.
struct HalfPanels {
  DType storage = DType::kF16;
  int64_t nr = 0, n = 0, k = 0;
  bool transposed = false;

  int64_t count() const { return CeilDiv(n, nr); }
  int64_t row_bytes() const { return nr * 2; }
  /// A multiple of 64.
  int64_t bytes() const { return RoundUp(count() * k * row_bytes(), 64); }
  const std::byte* At(const std::byte* packed, int64_t panel, int64_t row) const {
    return packed + (panel * k + row) * row_bytes();
  }
};

/// Writes `weights`, rounded to the panels' type, to panels.bytes() bytes.
void PackHalfPanels(const HalfPanels& panels, const Constant& weights, std::byte* out);

}  // namespace fettle::kernels
