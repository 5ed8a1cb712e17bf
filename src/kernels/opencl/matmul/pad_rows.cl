// Rows of two operands of a product, b from piece `b_at` of `to` on, from multiples of 16 bytes on and zero
// behind their ends, for kernels that copy 16 bytes at a time. A work-item makes one such piece: gws >=
// {b_at + b_rows * b_pitch / PIECE}.
//   ELEMENT_BYTES     2 or 4
//   ROUNDED           1: of f32, rounded to TF32
//   a_rows, b_rows    of all matrices of an operand; 0: it stays where it is
//   a_pitch, b_pitch  elements from row to row at `to`
#ifndef ELEMENT_BYTES
#define ELEMENT_BYTES 2
#endif
#ifndef ROUNDED
#define ROUNDED 0
#endif
#include "kernels/opencl/gemm/mma.clh"
#define PIECE (16 / ELEMENT_BYTES)
#if ELEMENT_BYTES == 2
typedef ushort element_t;
#else
typedef uint element_t;
#endif

// Eight elements of two bytes from `from[at]` on, by words: those begin at even places.
static uint4 PieceOfWords(__global const element_t* from, const long at) {
  __global const uint* words = (__global const uint*)from + at / 2;
  const uint4 low = vload4(0, words);
  if (at % 2 == 0) return low;
  return low >> 16 | (uint4)(low.yzw, words[4]) << 16;
}

__kernel void gemm_pad_rows(__global const element_t* restrict a, const int a_offset, const int a_rows,
                            const int a_columns, const int a_pitch,
                            __global const element_t* restrict b, const int b_offset, const int b_rows,
                            const int b_columns, const int b_pitch, __global uint4* restrict to,
                            const int to_offset, const int b_at) {
  const int item = get_global_id(0);
  const bool is_a = item < b_at;
  const int pitch = is_a ? a_pitch : b_pitch, columns = is_a ? a_columns : b_columns;
  const int rows = is_a ? a_rows : b_rows, piece = is_a ? item : item - b_at;
  const int row = piece / (pitch / PIECE), column = piece % (pitch / PIECE) * PIECE;
  if (row >= rows) return;
  __global const element_t* from = is_a ? a : b;
  const long at = (is_a ? a_offset : b_offset) + (long)row * columns + column;
  // A word more is read, which is there but in the last row.
  if (ELEMENT_BYTES == 2 && column + PIECE <= columns && row + 1 < rows) {
    to[to_offset + item] = PieceOfWords(from, at);
    return;
  }
  union {
    element_t lanes[PIECE];
    uint4 all;
  } made;
#pragma unroll
  for (int i = 0; i < PIECE; ++i) {
    made.lanes[i] = column + i < columns ? from[at + i] : (element_t)0;
    if (ROUNDED) made.lanes[i] = RoundedToTf32(made.lanes[i]);
  }
  to[to_offset + item] = made.all;
}
