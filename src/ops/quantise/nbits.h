// Code that import rules of products with packed weights share.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/import.h"

namespace fettle::ops {

/// Weights of `bits` bits: n columns of k, in blocks that share a scale.
struct NBits {
  int64_t n = 0, k = 0, bits = 0, block = 0;
  int64_t blocks() const { return (k + block - 1) / block; }
  int64_t per_byte() const { return 8 / bits; }
  DType dtype() const { return bits == 8 ? DType::kU8 : DType::kU4; }
  int width() const { return static_cast<int>(bits); }
  int64_t middle() const { return int64_t{1} << (bits - 1); }
};

/// Which rows of the operand [k, n] share a scale, where those are no runs of `block`.
struct NBitsGroups {
  /// The rows in an order in which they are runs; empty: they are as they lie.
  std::vector<int64_t> order;
  /// The group of each row, where no order makes them runs of `block`; empty otherwise.
  std::vector<int64_t> of;
};

/// Of input 'g_idx' at `input`. Fails where it is no constant of k groups.
Result<NBitsGroups> ReadGroups(const ImportContext& context, size_t input, const NBits& nbits);
/// `packed`, n rows of `row_bytes`, with the numbers of each row in another order.
Result<Constant> Reordered(const Constant& packed, const NBits& nbits, int64_t row_bytes,
                           const std::vector<int64_t>& order);
/// [of.size(), n] of `by_blocks` [blocks, n]: for each element of `of`, that row.
Result<Constant> RowsOf(const Constant& by_blocks, const std::vector<int64_t>& of);

/// Zero points at `input`, [n, blocks] as floats.
struct FloatZeros {
  /// Zero points as [blocks, n] in the weights' type, where all are whole numbers that fit in
  /// `bits`.
  std::optional<Constant> whole;
  /// Otherwise: scale * (middle - zero), [blocks, n] in the scales' type.
  std::optional<Constant> added;
};
Result<FloatZeros> ReadFloatZeros(const Constant& zeros, const Constant& scales,
                                  const NBits& nbits);
/// What float zero points add to the product of `a` [.., k]: sums over its blocks times `added`,
/// in the shape of `like`.
ir::ValueId BlockSumsTimes(ImportContext& context, ir::ValueId a, const NBits& nbits,
                           ir::ValueId added, ir::ValueId like);

}  // namespace fettle::ops
