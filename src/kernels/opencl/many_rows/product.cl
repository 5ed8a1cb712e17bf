// Rows of halves [m][A_PARTS][DEPTH] times weights of halves [n][B_PARTS][DEPTH] by matrix instructions (gemm/warp_tiles.clh),
// sums and results f32. Of two parts that add up to an operand (halves.clh) all products are made but that of both
// second ones. A work-group makes BM x BN results, or a slice of their sums: lws = {ITEMS, 1, 1},
// gws = {ceil(n / BN) * ITEMS, ceil(m / BM), SPLIT}. n is a multiple of 4, DEPTH one of K_STEPS.
//   COLUMN_FACTORS  1: columns have factors as rows have
//   EVEN            1: rows and columns are whole tiles
#ifndef DEPTH
#define DEPTH 2048
#endif
#ifndef A_PARTS
#define A_PARTS 2
#endif
#ifndef B_PARTS
#define B_PARTS 1
#endif
#ifndef COLUMN_FACTORS
#define COLUMN_FACTORS 0
#endif
#ifndef EVEN
#define EVEN 0
#endif
#define FACTORS 0
#include "kernels/opencl/access.clh"
#include "kernels/opencl/expression/expression.clh"
#include "kernels/opencl/gemm/mma.clh"
#include "kernels/opencl/gemm/warp_tiles.clh"

// Lanes walk along rows of y.
#define PART 4
#define PART_ROW(part) ((part) / (WN / PART))
#define PART_COLUMN(part) ((part) % (WN / PART) * PART)
#define PASSES (A_PARTS + B_PARTS - 1)

// Rows outside are copies of the last one.
#define COPY_ROWS(to, from, first, rows, tile_rows, chunks, pitch)                                        \
  _Pragma("unroll") for (int f = 0; f < (tile_rows) * (chunks) / ITEMS; ++f) {                            \
    const int at = item / (chunks) + f * (ITEMS / (chunks)), chunk = item % (chunks);                     \
    const int row = EVEN ? (first) + at : min((first) + at, (rows)-1);                                    \
    COPY_16((to) + CHUNK_AT(at, chunk, chunks), (from) + (long)row * (pitch) + chunk * CHUNK, 16);        \
  }
// Products of the same steps follow each other.
#define COPY_TILE(tile, place)                                                                                  \
  {                                                                                                             \
    const int pass = (tile) % PASSES, step = (tile) / PASSES * K_STEPS;                                         \
    const int a_part = A_PARTS == 2 && pass == 1, b_part = pass > A_PARTS - 1;                                  \
    COPY_ROWS(place, a + a_part * DEPTH + step, first_row, m, BM, A_CHUNKS, A_PARTS * DEPTH)                    \
    COPY_ROWS((place) + A_BYTES, b + b_part * DEPTH + step, first_column, n, BN, B_CHUNKS, B_PARTS * DEPTH)     \
  }
#define TILE_OF_GROUP (first_row / BM * ((n + BN - 1) / BN) + first_column / BN)
#if COLUMN_FACTORS
#define COLUMN_PARAMS , __global const float *restrict b_factors, const int b_factors_offset
#define FACTORS_AT(row, column) (a_factors[a_factors_offset + (row)] * vload4(0, b_factors + b_factors_offset + (column)))
#else
#define COLUMN_PARAMS
#define FACTORS_AT(row, column) a_factors[a_factors_offset + (row)]
#endif
#define STORE_PART(tile_row, tile_column, p)                                                                  \
  {                                                                                                           \
    const int row = first_row + (tile_row), column = first_column + (tile_column);                            \
    if (EVEN || (row < m && column < n)) {                                                                    \
      const float4 v = *(__local const float4*)(p) * FACTORS_AT(row, column);                                 \
      StoreFour(FINISH_ROWS(v, row, column), y + y_offset + row * n + column);                                \
    }                                                                                                         \
  }
static void StoreFour(const float4 v, __global float* to) {
  if (((size_t)to & 15) == 0)
    *(__global float4*)to = v;
  else
    vstore4(v, 0, to);
}

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void product(
    __global const uint4* restrict a_at, const int a_offset, __global const float* restrict a_factors,
    const int a_factors_offset, __global const uint4* restrict b_at, const int b_offset COLUMN_PARAMS,
    __global float* restrict y, const int y_offset, const int m, const int n SPLIT_PARAMS EXPRESSION_PARAMS) {
  __local uchar local_memory[TILE_BYTES] __attribute__((aligned(1024)));
  DECLARE_WARP(local_memory, ITEMS)
  const int item = get_local_id(0);
  const int first_column = (int)get_global_id(0) / ITEMS * BN, first_row = (int)get_global_id(1) * BM;
  const int slice = get_global_id(2);
  __global const ushort* a = (__global const ushort*)(a_at + a_offset);
  __global const ushort* b = (__global const ushort*)(b_at + b_offset);
  const int tiles = DEPTH / K_STEPS * PASSES;
  WARP_TILES(sum, FIRST_OF_SLICE(slice, tiles), TILES_OF_SLICE(slice, tiles))
  JOIN_SLICES(sum, TILE_OF_GROUP, slice)
  STORE_TILES(sum)
}
