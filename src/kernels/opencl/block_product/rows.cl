// Few rows times weights in blocks: each weight is read once. LANES work-items share a row of weights, neighbours
// read neighbouring units; sums of lanes are added in local memory, or by shuffles (lanes.clh). A lane holds DEPTH units
// of each of its columns before it multiplies them: the first are on their way while the row is rounded.
//   ROWS     of A
//   OWN      1: each work-group rounds the one row of A itself, 0: rows come rounded (quantise.cl)
//   MATRICES those that the row is multiplied by (OWN 1): up to 3, each by groups of its own, one matrix's behind the
//            other's
//   NORM     1: the row is normalised before (RMSNormalization, OWN 1)
//   GATE     pairs of columns of two matrices are stored as one (one_row/matrices.clh)
//   COLUMNS  rows of weights that a work-item sums at a time
//   ITEMS    work-items of a group: lws = {ITEMS}, gws = {groups * ITEMS}. A group takes tiles of ITEMS / LANES *
//            COLUMNS rows of weights, each as many behind the other as there are groups (launched)
#ifndef LANES
#define LANES 32
#endif
#include "kernels/opencl/access.clh"
#include "kernels/opencl/block_product/units.clh"
#include "kernels/opencl/expression/expression.clh"
#ifndef ROWS
#define ROWS 1
#endif
#ifndef OWN
#define OWN 1
#endif
#ifndef COLUMNS
#define COLUMNS 4
#endif
#ifndef ITEMS
#define ITEMS 128
#endif
#define SETS (ITEMS / LANES)
#define VALUES (ROWS * SUMS)
#define EACH(i, count) _Pragma("unroll") for (int i = 0; i < (count); ++i)
#define STEPS ((UNITS + LANES - 1) / LANES)
// Registers enough for 8 units only where the lanes of a row are a warp.
#define HELD_UNITS (SHUFFLES && OWN ? 8 : 1)
#define DEPTH (STEPS * SUMS <= HELD_UNITS ? STEPS : SUMS >= HELD_UNITS ? 1 : HELD_UNITS / SUMS)
// Lanes of a warp share the rounding of a block.
#define ROUNDS_TOGETHER (SHUFFLES && OWN && BLOCK == 32)

#if OWN
#define A_PARAMS __global const float *restrict x, const int x_offset
#define A_AT(row, unit) (unit)
#else
#define A_PARAMS                                                                                  \
  __global const int4 *restrict low_at, const int low_offset, __global const int4 *restrict high_at, \
      const int high_offset, __global const float2 *restrict steps_at, const int steps_offset
#define A_AT(row, unit) ((row)*UNITS + (unit))
#endif

#if ROUNDS_TOGETHER
// Four elements of a block as bytes, as RoundBlock makes them; the eight lanes of a block know its greatest. `quarter`
// counts fours of the row. Called by whole warps.
static void RoundQuarters(const float4 v, const int quarter, __local int* low, __local int* high,
                          __local float2* steps) {
  const float4 most = fabs(v), odd = v * 0.0f;
  const float largest = MostOfEight(fmax(fmax(most.x, most.y), fmax(most.z, most.w)));
  const bool is_odd = isnan(SumOfEight(odd.x + odd.y + odd.z + odd.w));
  const bool is_zero = is_odd || largest < 0x1p-100f;
  const float inverse = is_zero ? 0.0f : 127.0f / largest;
  const float step = is_odd ? NAN : is_zero ? 0.0f : largest * (1.0f / 127);
  const int4 rounded = is_zero ? (int4)(0) : convert_int4_rte(v * inverse);
  const float four = (float)(rounded.x + rounded.y + rounded.z + rounded.w);
  const float sum = BITS == 4 ? SumOfEight(four) : SumOfFour(four);
  const int block = quarter / 8, part = quarter % 8, unit = BITS == 4 ? block : quarter / 4;
  if (block >= BLOCKS) return;
  __local int* to = BITS == 4 && part >= 4 ? high : low;
  to[unit * 4 + part % 4] = as_int(convert_char4(rounded));
  if (quarter % (BITS == 4 ? 8 : 4) == 0) steps[unit] = (float2)(step, step * sum);
}
#endif

// Those of `first` on come first: each work-item begins at another bank.
static float SumOfLanes(__local const float* lanes, const int first) {
  float total = 0.0f;
  for (int i = 0; i < LANES; ++i) total += lanes[(i + first) % LANES];
  return total;
}

#define MATRIX_PARAMS(i)                                                                       \
  __global const codes_t *restrict codes_##i, const int codes_##i##_offset,                    \
      __global const pair_t *restrict pairs_##i, const int pairs_##i##_offset, __global float *restrict y_##i, \
      const int y_##i##_offset, const int n_##i
#define FIRST_OPERANDS                                         \
  __global const codes_t* codes_at = codes_1 + codes_1_offset; \
  __global const pair_t* pairs_at = pairs_1 + pairs_1_offset;
#define TAKE_OPERANDS(i)                     \
  codes_at = codes_##i + codes_##i##_offset; \
  pairs_at = pairs_##i + pairs_##i##_offset;
#if GATE
#define TAKE_FACTORS {TAKE_OPERANDS(2)}
#else
#define TAKE_FACTORS {}
#endif
#define WIDTH (BLOCKS * BLOCK)
#define STAGED ROUNDS_TOGETHER
#include "kernels/opencl/one_row/matrices.clh"
#if NORM
#define ROUND_ROW(block) ROUND_NORMED(x + x_offset, norm + norm_offset, scale, block, low, high, steps)
#else
#define ROUND_ROW(block) ROUND_BLOCK(x + x_offset, block, low, high, steps)
#endif

#if HOLDS
// Whole warps take part, those beyond the row with zeros.
#define ROUND_WHOLE_ROW                                                                                      \
  EACH(q, HELD_QUADS) {                                                                                      \
    const int i = item + q * ITEMS;                                                                          \
    if (i - lane < QUADS)                                                                                    \
      RoundQuarters(i < QUADS ? HELD_NORMED(q) : (float4)(0.0f), i, (__local int*)low, (__local int*)high, steps); \
  }
#elif ROUNDS_TOGETHER
// Whole warps take part, those beyond the row with zeros.
#define ROUND_WHOLE_ROW                                                                                            \
  _Pragma("unroll 4") for (int i = item; i - lane < BLOCKS * 8; i += ITEMS) RoundQuarters(                         \
      i < BLOCKS * 8 ? NORMED(i) : (float4)(0.0f), i, (__local int*)low, (__local int*)high, steps);
#else
#define ROUND_WHOLE_ROW for (int block = item; block < BLOCKS; block += ITEMS) ROUND_ROW(block)
#endif

// The sums of all lanes, with what follows, into y.
#if GATE && SHUFFLES
#define STORE_SUMS                                                                                      \
  EACH(c, COLUMNS) {                                                                                    \
    const float gate = SumOfLanes32(sum[0][c]), factor = SumOfLanes32(sum[0][COLUMNS + c]);             \
    const int column = first + set * COLUMNS + c;                                                       \
    if (lane == c && column < n) y[column] = Gated(gate, factor);                                       \
  }
#elif GATE
#define STORE_SUMS                                                                                      \
  EACH(v, VALUES) scratch[(set * VALUES + v) * LANES + lane] = sum[0][v];                               \
  barrier(CLK_LOCAL_MEM_FENCE);                                                                         \
  for (int out = item; out < SETS * COLUMNS; out += ITEMS) {                                            \
    __local const float* of = scratch + (out / COLUMNS * VALUES + out % COLUMNS) * LANES;               \
    const float gate = SumOfLanes(of, out), factor = SumOfLanes(of + COLUMNS * LANES, out);             \
    if (first + out < n) y[first + out] = Gated(gate, factor);                                          \
  }                                                                                                     \
  barrier(CLK_LOCAL_MEM_FENCE);
#elif SHUFFLES
#define STORE_SUMS                                                                                      \
  EACH(v, VALUES) {                                                                                     \
    const float total = SumOfLanes32(sum[v / COLUMNS][v % COLUMNS]);                                    \
    const int row = v / COLUMNS, column = first + set * COLUMNS + v % COLUMNS;                          \
    if (lane == v % LANES && column < n) y[row * n + column] = FINISH_ROWS((float4)(total), row, column).x; \
  }
#else
#define STORE_SUMS                                                                                      \
  EACH(v, VALUES) scratch[(set * VALUES + v) * LANES + lane] = sum[v / COLUMNS][v % COLUMNS];           \
  barrier(CLK_LOCAL_MEM_FENCE);                                                                         \
  for (int out = item; out < SETS * VALUES; out += ITEMS) {                                             \
    const float total = SumOfLanes(scratch + out * LANES, out);                                         \
    const int row = out / COLUMNS % ROWS, column = first + out / VALUES * COLUMNS + out % COLUMNS;      \
    if (column < n) y[row * n + column] = FINISH_ROWS((float4)(total), row, column).x;                  \
  }                                                                                                     \
  barrier(CLK_LOCAL_MEM_FENCE);
#endif

// Rows of weights that the work-item's lanes sum.
#define FIND_TILE(at)                                                      \
  FIND_MATRIX(at)                                                          \
  const int first = group * SETS * COLUMNS;                                \
  __global const codes_t* codes[SUMS];                                     \
  __global const pair_t* pairs[SUMS];                                      \
  EACH(c, SUMS) {                                                          \
    const int column = min(first + set * COLUMNS + c % COLUMNS, n - 1);    \
    if (c == COLUMNS) TAKE_FACTORS                                         \
    codes[c] = codes_at + column * UNITS;                                  \
    pairs[c] = pairs_at + column * BLOCKS;                                 \
  }
// Their first units.
#define LOAD_TILE(at)                                                      \
  {                                                                        \
    FIND_TILE(at)                                                          \
    (void)y;                                                               \
    EACH(d, DEPTH) EACH(c, SUMS) {                                         \
      const int unit = min(lane + d * LANES, UNITS - 1);                   \
      next[d][c] = codes[c][unit];                                         \
      next_pair[d][c] = pairs[c][unit / UNITS_OF_BLOCK];                   \
    }                                                                      \
  }

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void rows(
    A_PARAMS, MATRIX_PARAMS(1) SECOND_PARAMS THIRD_PARAMS, const int launched NORM_PARAMS EXPRESSION_PARAMS) {
  __local float scratch[SETS * VALUES * LANES];
  const int item = get_local_id(0), lane = item % LANES, set = item / LANES;
  const int tiles = ALL_TILES;
  codes_t next[DEPTH][SUMS];
  pair_t next_pair[DEPTH][SUMS];
#if OWN
  HOLD_ROW
#endif
  LOAD_TILE((int)get_global_id(0) / ITEMS)
#if OWN
  // Weights are on their way meanwhile.
  __local int4 low[UNITS], high[HAS_HIGH ? UNITS : 1];
  __local float2 steps[UNITS];
  FIND_SCALE
  ROUND_WHOLE_ROW
  barrier(CLK_LOCAL_MEM_FENCE);
#else
  __global const int4 *low = low_at + low_offset, *high = high_at + high_offset;
  __global const float2* steps = steps_at + steps_offset;
#endif

  for (int tile = (int)get_global_id(0) / ITEMS; tile < tiles; tile += launched) {
    FIND_TILE(tile)
    float sum[ROWS][SUMS];
    EACH(v, VALUES) sum[v / SUMS][v % SUMS] = 0.0f;
    for (int begin = lane; begin < UNITS; begin += DEPTH * LANES) {
      EACH(d, DEPTH) {
        const int unit = begin + d * LANES;
        codes_t of[SUMS];
        float2 pair[SUMS];
        EACH(c, SUMS) {
          of[c] = next[d][c];
          pair[c] = PairOf(next_pair[d][c]);
          if (DEPTH < STEPS) {
            const int following = min(unit + DEPTH * LANES, UNITS - 1);
            next[d][c] = codes[c][following];
            next_pair[d][c] = pairs[c][following / UNITS_OF_BLOCK];
          }
        }
        if (DEPTH > 1 && unit >= UNITS) continue;
        EACH(r, ROWS) {
          const int4 l = low[A_AT(r, unit)], h = HAS_HIGH ? high[A_AT(r, unit)] : l;
          const float2 step = steps[A_AT(r, unit)];
          EACH(c, SUMS) {
            const float dot = (float)DotUnit(of[c], l, h);
            sum[r][c] += step.x * pair[c].x * dot + step.y * pair[c].y;
          }
        }
      }
    }

    // The next one is on its way while sums are added.
    if (SHUFFLES && tile + launched < tiles) LOAD_TILE(tile + launched)
    STORE_SUMS
  }
}
