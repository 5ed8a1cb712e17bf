// Products of bits as all backends read them: operands, what follows them in a group, and how
// floats are compared for bits.
#pragma once

#include "base/status.h"
#include "ir/graph.h"
#include "ops/binary/op.h"
#include "ops/pool/op.h"

namespace fettle::kernels {

/// Where the floats of a group's tail end: in its output, in its bits, or in both (the sum of a
/// residual block and the signs that the next one reads).
struct BitTail {
  ir::ValueId anchor = ir::kAbsent;        // the product's own result
  ir::ValueId floats = ir::kAbsent;        // a chain behind it
  ir::ValueId packed = ir::kAbsent;        // what PackBits reads: `floats`, or a chain behind that
  int float_output = -1, bit_output = -1;  // of the group
  ops::BitPacking packing;

  bool packs_bits() const { return bit_output >= 0; }
  bool stores_floats() const { return float_output >= 0; }
};

/// A BinaryConv or BinaryMatMul whose weights are constants, and its tail.
struct BitProduct {
  ops::BinaryProduct product;
  ir::ValueId x = ir::kAbsent, w = ir::kAbsent, results = ir::kAbsent;
  bool to_bits = false;  // by limits of the sums; no tail follows
  BitTail tail;
};

/// Reads a group whose node 0 is such a product. Fails with kUnsupported where it is none, where
/// the nodes behind are something else, where bits would not lie in whole words beside those of
/// others, or over 2^29 bits a sum.
Result<BitProduct> ReadBitProduct(const ir::Graph& group);

/// A BinaryMaxPool of a tensor that is no constant.
struct BitMaxPool {
  ops::PoolAttributes pool;
  Shape x, y;  // [n, spatial..., words]
};

/// Fails with kUnsupported where node 0 is none, or not alone.
Result<BitMaxPool> ReadBitMaxPool(const ir::Graph& group);

/// Integers in the order of floats, key = bits ^ ((bits >> 31) & 0x7fffffff), so that subnormal
/// numbers count whatever flushes them. Zeros are two neighbours: a lower bound of 0 is the
/// negative one, an upper bound the positive one. NaNs lie outside of [lowest, highest].
int32_t LowerKey(float bound);
int32_t UpperKey(float bound);

}  // namespace fettle::kernels
