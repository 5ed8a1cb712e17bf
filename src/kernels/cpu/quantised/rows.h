// Rows of bytes that a product reads through pointers. They are widened for kernels with wide
// steps, and summed for the zero points of the other operand.
#pragma once

#include <cstdint>

#include "kernels/cpu/quantised/pack.h"

namespace fettle::kernels {

/// Rows in tiles of `mr`, by a pointer for each tap and row: [tile][tap][row of the tile]; with
/// `tap_offsets` by a pointer for each row, from which the taps lie so many bytes.
struct TapRows {
  const uint8_t* const* pointers = nullptr;
  const int64_t* tap_offsets = nullptr;
  int64_t offset = 0;  // of the row's first byte from each pointer
  int64_t rows = 0;
  int64_t taps = 0;
  int mr = 0;
  bool is_signed = false;  // bytes are i8
  bool flips = true;       // signed bytes are summed as u8: i8 plus 128
};

/// Writes `bytes` i8 plus 128, as u8.
void FlipBytes(const uint8_t* from, int64_t bytes, uint8_t* to);

/// Writes `depth` elements of each tap of each row, less `zero`. A row begins `stride` elements
/// behind the row before; a 0 follows an odd number of elements.
void WidenRows(const TapRows& rows, int64_t depth, int16_t zero, int64_t stride, int16_t* out);

/// The sum of each row without the pad lanes of `layout`'s channels. Where rows.flips, bytes are
/// summed as u8, i8 plus 128.
void SumRows(const TapRows& rows, const QuantLayout& layout, int32_t* sums);

}  // namespace fettle::kernels
