// Rows of floats times weights [n, k] of f16 or bf16, which are read as they are. LANES work-items share a row of
// weights, neighbours read neighbouring octets; sums of lanes are added in local memory, or by shuffles (lanes.clh). A
// lane holds DEPTH octets of each of its columns before it multiplies them.
//   MATRICES those that one row is multiplied by, NORM and GATE (one_row/matrices.clh), with ROWS 1
//   PTX      1: the device takes it, and has registers for what one row holds
//   BFLOAT   1: weights are bf16, 0: f16
//   OCTETS   of a row of weights
//   ROWS     of A that a work-group multiplies each weight by
//   COLUMNS  rows of weights that a work-item sums at a time
//   ITEMS    work-items of a group: lws = {ITEMS}, gws = {groups * ITEMS, ceil(rows / ROWS)} for groups of
//            ITEMS / LANES * COLUMNS
#include "kernels/opencl/access.clh"
#include "kernels/opencl/expression/expression.clh"
#ifndef BFLOAT
#define BFLOAT 0
#endif
#ifndef OCTETS
#define OCTETS 256
#endif
#ifndef ROWS
#define ROWS 1
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
#ifndef PTX
#define PTX 0
#endif
#include "kernels/opencl/one_row/lanes.clh"
#define SETS (ITEMS / LANES)
#define VALUES (ROWS * SUMS)
#define EACH(i, count) _Pragma("unroll") for (int i = 0; i < (count); ++i)
#define STEPS ((OCTETS + LANES - 1) / LANES)
#define HELD_OCTETS (SHUFFLES && ROWS == 1 ? 8 : 1)
#define DEPTH (STEPS * SUMS <= HELD_OCTETS ? STEPS : SUMS >= HELD_OCTETS ? 1 : HELD_OCTETS / SUMS)

static float8 Weights(const uint4 bits) {
#if BFLOAT
  return as_float8((uint8)(bits.x << 16, bits.x & 0xffff0000u, bits.y << 16, bits.y & 0xffff0000u,
                           bits.z << 16, bits.z & 0xffff0000u, bits.w << 16, bits.w & 0xffff0000u));
#elif PTX
  return (float8)(TwoHalves(bits.x), TwoHalves(bits.y), TwoHalves(bits.z), TwoHalves(bits.w));
#else
  return vload_half8(0, (const half*)&bits);
#endif
}

#define MATRIX_PARAMS(i)                                                                       \
  __global const uint4 *restrict weights_##i, const int weights_##i##_offset,                  \
      __global float *restrict y_##i, const int y_##i##_offset, const int n_##i
#define FIRST_OPERANDS __global const uint4* weights = weights_1 + weights_1_offset;
#define TAKE_OPERANDS(i) weights = weights_##i + weights_##i##_offset;
#define WIDTH (OCTETS * 8)
// Whether each work-group reads the row once, into local memory.
#define STAGED (NORM || (SHUFFLES && ROWS == 1 && OCTETS <= 1280))
#if STAGED
#define OCTET_OF(row, octet) (float8)(staged[0][octet], staged[1][octet])
#else
#define OCTET_OF(row, octet) EightFloats(x + x_offset + (row)*OCTETS * 8 + (octet)*8)
#endif
#include "kernels/opencl/one_row/matrices.clh"

static float8 EightFloats(__global const float* from) {
  if (((size_t)from & 15) != 0) return vload8(0, from);
  return (float8)(((__global const float4*)from)[0], ((__global const float4*)from)[1]);
}

#if !SHUFFLES
// Those of `first` on come first: each work-item begins at another bank.
static float SumOfLanes(__local const float* lanes, const int first) {
  float total = 0.0f;
  for (int i = 0; i < LANES; ++i) total += lanes[(i + first) % LANES];
  return total;
}
#endif

static float SumOf(const float8 v) {
  const float4 halves = v.lo + v.hi;
  return (halves.x + halves.y) + (halves.z + halves.w);
}

// The sums of all lanes, with what follows, into y.
#if GATE && SHUFFLES
#define STORE_SUMS                                                                                            \
  EACH(c, COLUMNS) {                                                                                          \
    const float gate = SumOfLanes32(SumOf(sum[0][c])), factor = SumOfLanes32(SumOf(sum[0][COLUMNS + c]));     \
    const int column = first + set * COLUMNS + c;                                                             \
    if (lane == c && column < n) y[column] = Gated(gate, factor);                                             \
  }
#elif SHUFFLES
#define STORE_SUMS                                                                                            \
  EACH(v, VALUES) {                                                                                           \
    const float total = SumOfLanes32(SumOf(sum[v / COLUMNS][v % COLUMNS]));                                   \
    const int row = first_row + v / COLUMNS, column = first + set * COLUMNS + v % COLUMNS;                    \
    if (lane == v % LANES && column < n && row < count)                                                       \
      y[row * n + column] = FINISH_ROWS((float4)(total), row, column).x;                                      \
  }
#else
#define SHARE_SUMS                                                                                            \
  EACH(v, VALUES) scratch[(set * VALUES + v) * LANES + lane] = SumOf(sum[v / SUMS][v % SUMS]);                \
  barrier(CLK_LOCAL_MEM_FENCE);
#if GATE
#define STORE_SUMS                                                                                            \
  SHARE_SUMS                                                                                                  \
  for (int out = item; out < SETS * COLUMNS; out += ITEMS) {                                                  \
    __local const float* of = scratch + (out / COLUMNS * VALUES + out % COLUMNS) * LANES;                     \
    const float gate = SumOfLanes(of, out), factor = SumOfLanes(of + COLUMNS * LANES, out);                   \
    if (first + out < n) y[first + out] = Gated(gate, factor);                                                \
  }
#else
#define STORE_SUMS                                                                                            \
  SHARE_SUMS                                                                                                  \
  for (int out = item; out < SETS * VALUES; out += ITEMS) {                                                   \
    const float total = SumOfLanes(scratch + out * LANES, out);                                               \
    const int row = first_row + out / COLUMNS % ROWS;                                                         \
    const int column = first + out / VALUES * COLUMNS + out % COLUMNS;                                        \
    if (column < n && row < count) y[row * n + column] = FINISH_ROWS((float4)(total), row, column).x;         \
  }
#endif
#endif

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void rows(
    __global const float* restrict x, const int x_offset,
    MATRIX_PARAMS(1) SECOND_PARAMS THIRD_PARAMS, const int count NORM_PARAMS EXPRESSION_PARAMS) {
#if !SHUFFLES || NORM
  __local float scratch[SETS * VALUES * LANES];
#endif
  const int item = get_local_id(0), lane = item % LANES, set = item / LANES;
  FIND_MATRIX((int)get_global_id(0) / ITEMS)
  HOLD_ROW
  const int first = group * SETS * COLUMNS;
  const int first_row = (int)get_global_id(1) * ROWS;
  __global const uint4* from[SUMS];
  uint4 next[DEPTH][SUMS];
  EACH(c, COLUMNS) from[c] = weights + min(first + set * COLUMNS + c, n - 1) * OCTETS;
#if GATE
  TAKE_OPERANDS(2)
  EACH(c, COLUMNS) from[COLUMNS + c] = weights + min(first + set * COLUMNS + c, n - 1) * OCTETS;
#endif
  EACH(d, DEPTH) EACH(c, SUMS) next[d][c] = from[c][min(lane + d * LANES, OCTETS - 1)];
#if STAGED
  // Halves of octets lie apart, so that neighbours read neighbouring banks.
  __local float4 staged[2][OCTETS];
  FIND_SCALE
#if HOLDS
  EACH(q, HELD_QUADS) {
    const int i = item + q * ITEMS;
    if (i < QUADS) staged[i % 2][i / 2] = HELD_NORMED(q);
  }
#else
#pragma unroll 4
  for (int i = item; i < QUADS; i += ITEMS) staged[i % 2][i / 2] = NORMED(i);
#endif
  barrier(CLK_LOCAL_MEM_FENCE);
#endif
  float8 sum[ROWS][SUMS];
  EACH(v, VALUES) sum[v / SUMS][v % SUMS] = 0.0f;
  for (int begin = lane; begin < OCTETS; begin += DEPTH * LANES) {
    EACH(d, DEPTH) {
      const int octet = begin + d * LANES;
      float8 w[SUMS];
      EACH(c, SUMS) {
        w[c] = Weights(next[d][c]);
        if (DEPTH < STEPS) next[d][c] = from[c][min(octet + DEPTH * LANES, OCTETS - 1)];
      }
      if (DEPTH > 1 && octet >= OCTETS) continue;
      EACH(r, ROWS) {
        // Rows beyond the last repeat it.
        const int row = min(first_row + r, count - 1);
        const float8 of_row = OCTET_OF(row, octet);
        EACH(c, SUMS) sum[r][c] = mad(of_row, w[c], sum[r][c]);
      }
    }
  }
  STORE_SUMS
}
