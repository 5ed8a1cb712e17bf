// Rows of two tensors, element by element in turns.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fettle::kernels {

/// y[r * 2n + 2i] = a[r * stride + i], y[r * 2n + 2i + 1] = b[r * stride + i] for i < n. Strides in
/// elements.
struct InterleaveArgs {
  const std::byte *a = nullptr, *b = nullptr;
  int64_t a_stride = 0, b_stride = 0;
  std::byte* y = nullptr;
  int64_t rows = 0, n = 0;
};
using InterleaveFunction = void (*)(const InterleaveArgs&);

/// For elements of 1, 2 or 4 bytes; null for others.
InterleaveFunction FindInterleave(int64_t element_bytes);

}  // namespace fettle::kernels
