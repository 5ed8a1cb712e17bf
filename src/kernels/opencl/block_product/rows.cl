// Few rows times weights in blocks: each weight is read once. LANES work-items share a row of weights, neighbours
// read neighbouring units; sums of lanes are added in local memory.
//   ROWS     of A
//   OWN      1: each work-group rounds the one row of A itself, 0: rows come rounded (quantise.cl)
//   COLUMNS  rows of weights that a work-item sums at a time
//   ITEMS    work-items of a group: lws = {ITEMS}, gws = {groups * ITEMS} for groups of ITEMS / LANES * COLUMNS
#include "kernels/opencl/access.clh"
#include "kernels/opencl/block_product/units.clh"
#include "kernels/opencl/expression/expression.clh"
#ifndef ROWS
#define ROWS 1
#endif
#ifndef OWN
#define OWN 1
#endif
#ifndef LANES
#define LANES 32
#endif
#ifndef COLUMNS
#define COLUMNS 4
#endif
#ifndef ITEMS
#define ITEMS 128
#endif
#define SETS (ITEMS / LANES)
#define VALUES (ROWS * COLUMNS)
#define EACH(i, count) _Pragma("unroll") for (int i = 0; i < (count); ++i)

#if OWN
#define A_PARAMS __global const float *restrict x, const int x_offset
#define A_AT(row, unit) (unit)
#else
#define A_PARAMS                                                                                  \
  __global const int4 *restrict low_at, const int low_offset, __global const int4 *restrict high_at, \
      const int high_offset, __global const float2 *restrict steps_at, const int steps_offset
#define A_AT(row, unit) ((row)*UNITS + (unit))
#endif

// Those of `first` on come first: each work-item begins at another bank.
static float SumOfLanes(__local const float* lanes, const int first) {
  float total = 0.0f;
  for (int i = 0; i < LANES; ++i) total += lanes[(i + first) % LANES];
  return total;
}

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void rows(
    A_PARAMS, __global const codes_t* restrict codes_at, const int codes_offset,
    __global const pair_t* restrict pairs_at, const int pairs_offset, __global float* restrict y,
    const int y_offset, const int n EXPRESSION_PARAMS) {
  __local float scratch[SETS * VALUES * LANES];
  const int item = get_local_id(0), lane = item % LANES, set = item / LANES;
  const int first = (int)get_global_id(0) / ITEMS * SETS * COLUMNS;
  __global const codes_t* codes[COLUMNS];
  __global const pair_t* pairs[COLUMNS];
  codes_t next[COLUMNS];
  pair_t next_pair[COLUMNS];
  EACH(c, COLUMNS) {
    const int column = min(first + set * COLUMNS + c, n - 1), unit = min(lane, UNITS - 1);
    codes[c] = codes_at + codes_offset + column * UNITS;
    pairs[c] = pairs_at + pairs_offset + column * BLOCKS;
    next[c] = codes[c][unit];
    next_pair[c] = pairs[c][unit / UNITS_OF_BLOCK];
  }
#if OWN
  // Weights are on their way meanwhile.
  __local int4 low[UNITS], high[HAS_HIGH ? UNITS : 1];
  __local float2 steps[UNITS];
  for (int block = item; block < BLOCKS; block += ITEMS)
    ROUND_BLOCK(x + x_offset, block, low, high, steps)
  barrier(CLK_LOCAL_MEM_FENCE);
#else
  __global const int4 *low = low_at + low_offset, *high = high_at + high_offset;
  __global const float2* steps = steps_at + steps_offset;
#endif

  float sum[ROWS][COLUMNS];
  EACH(v, VALUES) sum[v / COLUMNS][v % COLUMNS] = 0.0f;
  for (int unit = lane; unit < UNITS; unit += LANES) {
    codes_t of[COLUMNS];
    float2 pair[COLUMNS];
    const int following = min(unit + LANES, UNITS - 1);
    EACH(c, COLUMNS) {
      of[c] = next[c];
      pair[c] = PairOf(next_pair[c]);
      next[c] = codes[c][following];
      next_pair[c] = pairs[c][following / UNITS_OF_BLOCK];
    }
    EACH(r, ROWS) {
      const int4 l = low[A_AT(r, unit)], h = HAS_HIGH ? high[A_AT(r, unit)] : l;
      const float2 step = steps[A_AT(r, unit)];
      EACH(c, COLUMNS) {
        const float dot = (float)DotUnit(of[c], l, h);
        sum[r][c] += step.x * pair[c].x * dot + step.y * pair[c].y;
      }
    }
  }

  EACH(v, VALUES)
    scratch[(set * VALUES + v) * LANES + lane] = sum[v / COLUMNS][v % COLUMNS];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int out = item; out < SETS * VALUES; out += ITEMS) {
    const float total = SumOfLanes(scratch + out * LANES, out);
    const int row = out / COLUMNS % ROWS;
    const int column = first + out / VALUES * COLUMNS + out % COLUMNS;
    if (column < n) y[y_offset + row * n + column] = FINISH_ROWS((float4)(total), row, column).x;
  }
}
