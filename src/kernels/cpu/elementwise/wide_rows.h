// Loops of comparisons, extremes and logic in vectors of the processor: plain ones of 128 bits have
// no instructions for these types.
#pragma once

#include <string_view>

#include "kernels/cpu/elementwise/typed_rows.h"

namespace fettle::kernels::elementwise {

/// kSame: both are true, or neither; kNotLess: of numbers that are in order, so no NaN.
enum class WideOp {
  kAbs,
  kNeg,
  kAnd,
  kOr,
  kXor,
  kSame,
  kEqual,
  kLess,
  kNotLess,
  kLessOrEqual,
  kMax,
  kMin,
  kMul,
  kDiv
};

/// As FindNumericRow: comparisons, Max and Min of i8, u8, i32, i64 and f64 (and of f32 the former),
/// Clip of these integers, Equal of u32 and u64, too, logic of bool, Abs and Neg of i8, Mul of all
/// but 16 bits, and Div of i32.
TypedRow FindWideRow(DType dtype, std::string_view op);

}  // namespace fettle::kernels::elementwise
