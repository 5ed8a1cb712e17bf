// Folding rows of numbers into one: sums, extremes and products.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace fettle::kernels {

enum class FoldKind : uint8_t { kSum, kSumAbs, kSumSquare, kProd, kMax, kMin };

/// A block of an [outer, row, inner] tensor of type `storage`: the elements that are folded lie
/// `inner_stride` elements apart.
struct FoldBlock {
  FoldKind kind = FoldKind::kSum;
  DType storage = DType::kF32;
  const std::byte* from = nullptr;  // the first element
  int64_t row = 0;                  // elements to fold
  int64_t inner = 1;                // neighbours in memory that are folded each on its own
  int64_t inner_stride = 1;         // elements between row elements: the tensor's inner extent
  int64_t rows = 1;                 // blocks that follow each other; inner is the stride of several
};

/// to[i] = fold over r of from[r * inner_stride + i] for i < inner; the neutral element for no
/// rows; those of the next block of `rows` follow. A single column (inner_stride 1) is folded in
/// several chains. `storage` is f32, or u8 or i8 for sums and extremes.
void Fold(const FoldBlock& block, float* to);

/// What a fold becomes in the end.
enum class FoldEnd : uint8_t { kNone, kMean, kSqrt, kLog };

/// Ends n folds of `row` elements each, in place.
void EndFolds(FoldEnd end, int64_t row, float* values, int64_t n);

/// The same as Fold for extremes of u8, i8, i32 or i64, whose type `to` has.
void FoldExtremes(const FoldBlock& block, std::byte* to);

/// Folds partial results: to[i] = kind over p of parts[p * inner + i] (absolute values and squares
/// were taken before).
void FoldParts(FoldKind kind, const float* parts, int64_t count, int64_t inner, float* to);

}  // namespace fettle::kernels
