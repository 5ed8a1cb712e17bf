// Casts between the numbers that exporters use, in vectors.
#pragma once

#include "kernels/cpu/elementwise/typed_rows.h"

namespace fettle::kernels::elementwise {

/// FindCastRow of f32 and f64 to i8, u8, i32, i64 and bool; of bool to i8, i32, i64, f32 and f64;
/// of i64 to f32 and f64; between i8 and u8; null: another pair.
TypedRow FindVectorCastRow(DType from, DType to);

}  // namespace fettle::kernels::elementwise
