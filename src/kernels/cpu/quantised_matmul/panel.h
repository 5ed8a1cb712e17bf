// Operands of a product of two computed matrices of bytes, in the forms that the micro-kernels
// read.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fettle::kernels {

/// A part of a matrix of bytes: `depth` by `columns`; element (k, n) lies at k * depth_stride + n *
/// column_stride.
struct ByteMatrix {
  const uint8_t* at = nullptr;
  int64_t depth = 0, columns = 0;
  int64_t depth_stride = 0, column_stride = 0;
};

/// Writes a panel of `nr` columns, a multiple of 16 (of 8 for i16), of which `b` may have fewer:
/// [steps][nr][4] of each byte ^ flip; what is behind the last row is 0, behind the last column
/// anything.
void PackByteSteps(const ByteMatrix& b, uint8_t flip, int nr, uint8_t* panel);
/// [steps][nr][2] of i16: each element, i8 where `is_signed`, less `zero`; likewise.
void PackWideSteps(const ByteMatrix& b, bool is_signed, int zero, int nr, int16_t* panel);

/// How a panel of the right operand is packed: as words less `zero` where `wide`, else as i8.
struct PanelForm {
  bool wide = false, is_signed = false;
  int zero = 0, nr = 0;
};
/// A panel, or some whole steps of it, or its last ones.
inline void PackSteps(const ByteMatrix& b, const PanelForm& form, std::byte* steps) {
  if (form.wide) {
    PackWideSteps(b, form.is_signed, form.zero, form.nr, reinterpret_cast<int16_t*>(steps));
  } else {
    PackByteSteps(b, form.is_signed ? 0 : 0x80, form.nr, reinterpret_cast<uint8_t*>(steps));
  }
}

/// The sum of x ^ flip.
int32_t SumOfBytes(const uint8_t* x, int64_t n, uint8_t flip = 0);

/// sums *= factor, modulo 2^32; `n` is a multiple of 16.
void ScaleSums(int32_t* sums, int64_t n, uint32_t factor);

/// What zero points add to rows of sums of products; all modulo 2^32.
struct ZeroTerms {
  const uint32_t* row_zeros = nullptr;  // of each row's operand
  const uint32_t* row_sums = nullptr;   // of each row's elements, less their zero points
  const int32_t *column_sums = nullptr, *column_zeros = nullptr;
};
/// Rows of sums, and where they go.
struct ProductSums {
  const int32_t* from = nullptr;
  int32_t* to = nullptr;
  int64_t rows = 0, columns = 0, from_stride = 0, to_stride = 0;
};
/// to = from - row_zero * column_sums - row_sum * column_zeros, row by row. Of sums and columns
/// whole vectors are read.
void TakeOffZeros(const ProductSums& sums, const ZeroTerms& terms);

}  // namespace fettle::kernels
