// Loops of one element-wise operator over a row of elements of one type.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/cpu/elementwise/broadcast.h"
#include "tensor/dtype.h"

namespace fettle::kernels::elementwise {

/// Computes `n` elements of `out` from as many of each operand, all without gaps. `out` may be an
/// operand, and overlaps none of them otherwise. Bit k of `once`, where the function
/// TakesOnce: operand k has one element instead.
using TypedRow = void (*)(const std::byte* const in[kMaxTypedOperands], std::byte* out, int64_t n,
                          unsigned once);

// Each null where there is no such loop.

/// `op` of operands of `dtype`, integers, bool or double, by its canonical name; "FMod" is Mod with
/// fmod = 1, "ShiftLeft" and "ShiftRight" are BitShift of unsigned integers.
TypedRow FindNumericRow(DType dtype, std::string_view op);
/// Whether operands of that loop may be one element.
bool TakesOnce(DType dtype, std::string_view op);
/// The same for a few elements at a call, without comparisons.
TypedRow FindShortRow(DType dtype, std::string_view op);
/// Functions of double, of which FindShortRow takes them.
TypedRow FindDoubleRow(std::string_view op);
/// Cast between integers, bool, float and double: the low bits of an integer stay; a float is cut
/// off and held in the range of integers, where NaN is 0; anything to bool compares with zero.
TypedRow FindCastRow(DType from, DType to);

}  // namespace fettle::kernels::elementwise
