// Rows of Where in vectors.
#pragma once

#include "kernels/cpu/elementwise/typed_rows.h"

namespace fettle::kernels::elementwise {

/// Where of elements of any type of `dtype`'s size; any operand may be one element (`once`). Null:
/// no type of whole bytes.
TypedRow FindWhereRow(DType dtype);

}  // namespace fettle::kernels::elementwise
