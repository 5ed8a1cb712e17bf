// Folding rows of numbers into one: sums, extremes and products.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace fettle::kernels {

enum class FoldKind : uint8_t { kSum, kSumAbs, kSumSquare, kProd, kMax, kMin };

/// A block of an [outer, row, inner] tensor of type `storage` (f32, u8 or i8): the elements that
/// are folded lie `stride` elements apart.
struct FoldBlock {
  FoldKind kind = FoldKind::kSum;
  DType storage = DType::kF32;
  const std::byte* from = nullptr;  // the first element
  int64_t row = 0;                  // elements to fold
  int64_t inner = 1;                // neighbours in memory that are folded each on its own
  int64_t inner_stride = 1;         // elements between row elements: the tensor's inner extent
};

/// to[i] = fold over r of from[r * inner_stride + i] for i < inner; the neutral element for no
/// rows. A single column (inner_stride 1) is folded in several chains.
void Fold(const FoldBlock& block, float* to);

/// Folds partial results: to[i] = kind over p of parts[p * inner + i] (absolute values and squares
/// were taken before).
void FoldParts(FoldKind kind, const float* parts, int64_t count, int64_t inner, float* to);

}  // namespace fettle::kernels
