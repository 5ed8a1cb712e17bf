// Constants of small integers that stay packed in memory, several to a byte.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace fettle {

/// Rows of `columns` numbers without a sign, of `bits` (1, 2, 4 or 8) bits each, low bits first, in
/// `row_bytes` bytes.
struct PackedRows {
  int64_t rows = 0, columns = 0, row_bytes = 0;
  int bits = 4;
};

/// A constant of `dtype`, whose elements take a byte each, [rows, columns] or, `transposed`,
/// [columns, rows]: elements are unpacked when they are read. `packed` has rows * row_bytes bytes
/// and is shared. Signed types get the numbers' sign.
Constant UnpackWhenRead(DType dtype, const Constant& packed, const PackedRows& layout,
                        bool transposed);

/// Elements of a 4-bit type as bytes of two, the first in the low half; and a constant of `shape`
/// over such bytes.
Result<Tensor> PackNibbles(const Constant& constant);
Constant FromNibbles(DType dtype, const Shape& shape, const Constant& packed);

}  // namespace fettle
