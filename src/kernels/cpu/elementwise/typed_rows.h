// Loops of one element-wise operator over a row of elements that are no floats.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/cpu/elementwise/broadcast.h"
#include "tensor/dtype.h"

namespace fettle::kernels::elementwise {

/// A row: `n` elements from `out` on, operand i from in[i] on, stepping by stride[i] elements.
struct TypedRowArgs {
  const std::byte* in[kMaxTypedOperands];
  int64_t stride[kMaxTypedOperands];
  std::byte* out;
  int64_t n;
};
using TypedRow = void (*)(const TypedRowArgs&);

// Each null where there is no such loop.

/// `op` of one or two operands of `dtype`, by its canonical name.
TypedRow FindNumericRow(DType dtype, std::string_view op);
/// Where, of operands of `dtype`.
TypedRow FindWhereRow(DType dtype);
/// Cast between integers and bool: the low bits stay; anything to bool compares with zero, as the
/// conversion to `bool` does.
TypedRow FindCastRow(DType from, DType to);

}  // namespace fettle::kernels::elementwise
