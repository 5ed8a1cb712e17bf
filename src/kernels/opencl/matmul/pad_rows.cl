// Rows of two operands of a product, b from piece `b_at` of `to` on, `pitch` elements from row to row and
// zero behind their ends, for kernels that copy 16 bytes at a time. A work-item makes one such piece: gws >=
// {pieces of the longer row, rows of both}.
//   ELEMENT_BYTES     2 or 4
//   ROUNDED           1: of f32, rounded to TF32
//   a_rows, b_rows    of all matrices of an operand; 0: it stays where it is
//   a_pitch, b_pitch  elements from row to row at `to`, multiples of 16 bytes
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

// The bytes from `skipped` on of 32 that follow each other, an even number below 16.
static uint4 Shifted(const uint4 low, const uint4 high, const uint skipped) {
  const bool by_8 = skipped & 8, by_4 = skipped & 4, by_2 = skipped & 2;
  const uint4 moved = by_8 ? (uint4)(low.zw, high.xy) : low;
  const uint2 rest = by_8 ? high.zw : high.xy;
  const uint4 words = by_4 ? (uint4)(moved.yzw, rest.x) : moved;
  const uint last = by_4 ? rest.y : rest.x;
  return by_2 ? words >> 16 | (uint4)(words.yzw, last) << 16 : words;
}

// What is left of a piece that has `left` elements of its row.
static uint4 Kept(const uint4 piece, const int left) {
  uint words[4] = {piece.x, piece.y, piece.z, piece.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int bits = (left * ELEMENT_BYTES - i * 4) * 8;
    words[i] = bits >= 32 ? words[i] : bits <= 0 ? 0 : words[i] & (1u << bits) - 1;
    if (ROUNDED) words[i] = RoundedToTf32(words[i]);
  }
  return (uint4)(words[0], words[1], words[2], words[3]);
}

// Piece `piece` of row `row`, element by element.
static uint4 PieceByElements(__global const element_t* from, const int columns, const int row, const int piece) {
  union {
    element_t lanes[PIECE];
    uint4 all;
  } made;
#pragma unroll
  for (int i = 0; i < PIECE; ++i) {
    const int column = piece * PIECE + i;
    made.lanes[i] = column < columns ? from[(long)row * columns + column] : (element_t)0;
  }
  return Kept(made.all, PIECE);
}

// The same of rows that another one is behind, two pieces long at least: 32 bytes as they lie. What is in front and
// behind belongs to the operand's memory, too.
static uint4 PieceOfWhole(__global const element_t* from, const int columns, const int row, const int piece) {
  const int last = (columns - 1) / PIECE;
  __global const element_t* const at = from + ((long)row * columns + min(piece, last) * PIECE);
  const uint skipped = (uint)(size_t)at & 15;
  __global const uint4* const whole = (__global const uint4*)((__global const uchar*)at - skipped);
  return Kept(Shifted(whole[0], whole[1], skipped), columns - piece * PIECE);
}

__kernel void gemm_pad_rows(__global const element_t* restrict a, const int a_offset, const int a_rows,
                            const int a_columns, const int a_pitch,
                            __global const element_t* restrict b, const int b_offset, const int b_rows,
                            const int b_columns, const int b_pitch, __global uint4* restrict to,
                            const int to_offset, const int b_at) {
  const int piece = get_global_id(0), of_both = get_global_id(1);
  const bool is_a = of_both < a_rows;
  const int row = is_a ? of_both : of_both - a_rows, rows = is_a ? a_rows : b_rows;
  const int columns = is_a ? a_columns : b_columns, pieces = (is_a ? a_pitch : b_pitch) / PIECE;
  if (piece >= pieces || row >= rows) return;
  __global const element_t* const from = is_a ? a + a_offset : b + b_offset;
  const bool is_whole = row + 1 < rows && columns >= 2 * PIECE;
  to[to_offset + (is_a ? 0 : b_at) + row * pieces + piece] =
      is_whole ? PieceOfWhole(from, columns, row, piece) : PieceByElements(from, columns, row, piece);
}
