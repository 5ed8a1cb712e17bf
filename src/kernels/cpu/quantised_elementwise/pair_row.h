// Two rows of bytes to one, through the numbers that they stand for.
#pragma once

#include <cstdint>

#include "kernels/cpu/quantised_elementwise/byte_operand.h"

namespace fettle::kernels {

/// y = round((a - a_zero) * product + (b * shortcut + add)) + y_zero, within the bounds of y; bytes
/// without their signs, as in ByteOperand.
struct FusedSum {
  float product = 0, shortcut = 0, add = 0;
};

/// y = quantised(a op b), in the fp32 operations of the graph: two products, op, a quotient,
/// rounded once. Strides are 0 or 1.
struct PairRowArgs {
  const uint8_t *a = nullptr, *b = nullptr;
  int64_t a_stride = 1, b_stride = 1;
  uint8_t* y = nullptr;
  int64_t n = 0;
  ByteOperand a_type, b_type, y_type;
  float low = 0, high = 255;  // of y ^ flip
  /// 1 / y_type.scale: the quotient is a product and one correction. 0: it is divided.
  float reciprocal = 0;
  /// Of Mul: see fused_product.h; 0: none.
  float factor = 0;
  /// Of Add and Sub of rows where neither operand is repeated: see fused_sum.h; zeros: none.
  FusedSum fused;
};

enum class PairOp : uint8_t { kAdd, kSub, kMul };
using PairRowFunction = void (*)(const PairRowArgs&);
PairRowFunction FindPairRow(PairOp op);

/// Whether all 65,536 pairs of bytes give the same with the reciprocal as by division.
bool IsReciprocalExact(PairOp op, PairRowArgs args);

}  // namespace fettle::kernels
