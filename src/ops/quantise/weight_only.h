// Matrix products whose right operand is a dequantised constant of few bits, while the left one is
// not quantised.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::ops {

/// The right operand [k, n] of a product: element (i, j) is (w - zero) * scale, where w lies at
/// [i, j], or at [j, i] where `by_columns`.
struct WeightOnly {
  /// Constants: i4, u4, i8 or u8; floats; the weights' type, or kAbsent for 0. Scales and zero
  /// points: one for all, one per column, or one for each block of a column, in the order of w.
  ir::ValueId weights = ir::kAbsent, scales = ir::kAbsent, zeros = ir::kAbsent;
  int64_t n = 0, k = 0;
  int64_t block = 0;  // rows of the operand that share a scale; at most k
  bool by_columns = false;
  /// Of a code, where it is less than the weights' type has: attribute 'bits'. 0: it is not.
  int bits = 0;

  int64_t blocks() const { return (k + block - 1) / block; }
  /// Where the scale (and the zero point) of a column's block lies among `count` of them.
  int64_t ScaleIndex(int64_t column, int64_t block_index, int64_t count) const {
    if (count == 1) return 0;
    if (count == n && blocks() == 1) return column;
    return by_columns ? column * blocks() + block_index : block_index * n + column;
  }
};

/// Reads a MatMul or a Gemm whose right operand `dequantiser` writes. Fails with kUnsupported and
/// the reason where it is none: other scales, transposed or scaled left operands.
Result<WeightOnly> ReadWeightOnly(const ir::Graph& graph, const ir::Node& dequantiser,
                                  const ir::Node& product);

}  // namespace fettle::ops
