// Rows of floats times weights [n, k] of f16 or bf16, which are read as they are. LANES work-items share a row of
// weights, neighbours read neighbouring octets; sums of lanes are added in local memory.
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
#define SETS (ITEMS / LANES)
#define VALUES (ROWS * COLUMNS)
#define EACH(i, count) _Pragma("unroll") for (int i = 0; i < (count); ++i)

static float8 Weights(const uint4 bits) {
#if BFLOAT
  return as_float8((uint8)(bits.x << 16, bits.x & 0xffff0000u, bits.y << 16, bits.y & 0xffff0000u,
                           bits.z << 16, bits.z & 0xffff0000u, bits.w << 16, bits.w & 0xffff0000u));
#else
  return vload_half8(0, (const half*)&bits);
#endif
}

static float8 EightFloats(__global const float* from) {
  if (((size_t)from & 15) != 0) return vload8(0, from);
  return (float8)(((__global const float4*)from)[0], ((__global const float4*)from)[1]);
}

static float SumOf(const float8 v) {
  const float4 halves = v.lo + v.hi;
  return (halves.x + halves.y) + (halves.z + halves.w);
}

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void rows(
    __global const float* restrict x, const int x_offset, __global const uint4* restrict weights,
    const int weights_offset, __global float* restrict y, const int y_offset, const int count,
    const int n EXPRESSION_PARAMS) {
  __local float scratch[SETS * VALUES * LANES];
  const int item = get_local_id(0), lane = item % LANES, set = item / LANES;
  const int first = (int)get_global_id(0) / ITEMS * SETS * COLUMNS;
  const int first_row = (int)get_global_id(1) * ROWS;
  __global const uint4* from[COLUMNS];
  uint4 next[COLUMNS];
  EACH(c, COLUMNS) {
    from[c] = weights + weights_offset + min(first + set * COLUMNS + c, n - 1) * OCTETS;
    next[c] = from[c][min(lane, OCTETS - 1)];
  }
  float8 sum[ROWS][COLUMNS];
  EACH(v, VALUES) sum[v / COLUMNS][v % COLUMNS] = 0.0f;
  for (int octet = lane; octet < OCTETS; octet += LANES) {
    float8 w[COLUMNS];
    EACH(c, COLUMNS) {
      w[c] = Weights(next[c]);
      next[c] = from[c][min(octet + LANES, OCTETS - 1)];
    }
    EACH(r, ROWS) {
      // Rows beyond the last repeat it.
      const int row = min(first_row + r, count - 1);
      const float8 of_row = EightFloats(x + x_offset + row * OCTETS * 8 + octet * 8);
      EACH(c, COLUMNS) sum[r][c] = mad(of_row, w[c], sum[r][c]);
    }
  }
  EACH(v, VALUES) scratch[(set * VALUES + v) * LANES + lane] = SumOf(sum[v / COLUMNS][v % COLUMNS]);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int out = item; out < SETS * VALUES; out += ITEMS) {
    float total = 0.0f;
    // Each begins at another bank.
    for (int i = 0; i < LANES; ++i) total += scratch[out * LANES + (i + out) % LANES];
    const int row = first_row + out / COLUMNS % ROWS;
    const int column = first + out / VALUES * COLUMNS + out % COLUMNS;
    if (column < n && row < count) y[y_offset + row * n + column] = FINISH_ROWS((float4)(total), row, column).x;
  }
}
