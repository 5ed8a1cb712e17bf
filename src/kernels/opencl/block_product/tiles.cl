// Many rows, rounded before (quantise.cl), times weights in blocks, by tiles in local memory: a work-group makes
// TILE_ROWS x 64 results, a work-item 4 x 4 of them. lws = {16 * TILE_ROWS / 4}, gws = {column tiles * lws, row tiles}.
#include "kernels/opencl/access.clh"
#include "kernels/opencl/block_product/units.clh"
#include "kernels/opencl/expression/expression.clh"
#ifndef TILE_ROWS
#define TILE_ROWS 64
#endif
#define TILE_COLUMNS 64
#define ITEMS (4 * TILE_ROWS)
// Units that are in local memory at a time.
#define STAGED 2
#define STAGED_UNIT(i, s) (first_unit + (s) < UNITS ? (i) * UNITS + first_unit + (s) : (i) * UNITS)

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void tiles(
    __global const int4* restrict low, const int low_offset, __global const int4* restrict high,
    const int high_offset, __global const float2* restrict steps, const int steps_offset,
    __global const codes_t* restrict codes, const int codes_offset, __global const pair_t* restrict pairs,
    const int pairs_offset, __global float* restrict y, const int y_offset, const int rows,
    const int n EXPRESSION_PARAMS) {
  __local int4 a_low[STAGED * TILE_ROWS], a_high[HAS_HIGH ? STAGED * TILE_ROWS : 1];
  __local float2 a_steps[STAGED * TILE_ROWS], w_pairs[STAGED * TILE_COLUMNS];
  __local codes_t w_codes[STAGED * TILE_COLUMNS];
  const int item = get_local_id(0), across = item % 16, down = item / 16;
  const int first_column = (int)get_global_id(0) / ITEMS * TILE_COLUMNS;
  const int first_row = (int)get_global_id(1) * TILE_ROWS;
  float sum[4][4];
#pragma unroll
  for (int i = 0; i < 16; ++i) sum[i / 4][i % 4] = 0.0f;

  for (int first_unit = 0; first_unit < UNITS; first_unit += STAGED) {
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = item; i < STAGED * TILE_ROWS; i += ITEMS) {
      const int s = i % STAGED, r = i / STAGED, to = s * TILE_ROWS + r;
      const int at = STAGED_UNIT(min(first_row + r, rows - 1), s);
      a_low[to] = low[low_offset + at];
      if (HAS_HIGH) a_high[to] = high[high_offset + at];
      // Units behind the last one count for nothing.
      a_steps[to] = first_unit + s < UNITS ? steps[steps_offset + at] : (float2)(0.0f);
    }
    for (int i = item; i < STAGED * TILE_COLUMNS; i += ITEMS) {
      const int s = i % STAGED, c = i / STAGED, to = s * TILE_COLUMNS + c;
      const int at = STAGED_UNIT(min(first_column + c, n - 1), s);
      w_codes[to] = codes[codes_offset + at];
      w_pairs[to] = PairOf(pairs[pairs_offset + at / UNITS_OF_BLOCK]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int s = 0; s < STAGED; ++s) {
      int4 l[4], h[4];
      float2 step[4];
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        const int at = s * TILE_ROWS + r * (TILE_ROWS / 4) + down;
        l[r] = a_low[at];
        h[r] = HAS_HIGH ? a_high[at] : l[r];
        step[r] = a_steps[at];
      }
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        const int at = s * TILE_COLUMNS + c * 16 + across;
        const codes_t of = w_codes[at];
        const float2 pair = w_pairs[at];
#pragma unroll
        for (int r = 0; r < 4; ++r)
          sum[r][c] += step[r].x * pair.x * (float)DotUnit(of, l[r], h[r]) + step[r].y * pair.y;
      }
    }
  }
  for (int r = 0; r < 4; ++r) {
    const int row = first_row + r * (TILE_ROWS / 4) + down;
    for (int c = 0; c < 4; ++c) {
      const int column = first_column + c * 16 + across;
      if (row < rows && column < n)
        y[y_offset + row * n + column] = FINISH_ROWS((float4)(sum[r][c]), row, column).x;
    }
  }
}
