// Casts from floats to numbers that exporters use, and from bool, in vectors.
#pragma once

#include "kernels/cpu/elementwise/typed_rows.h"

namespace fettle::kernels::elementwise {

/// FindCastRow of f32 and f64 to i8, u8, i32, i64 and bool, and of bool to f32; null: another pair.
TypedRow FindFloatCastRow(DType from, DType to);

}  // namespace fettle::kernels::elementwise
