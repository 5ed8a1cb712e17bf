// Rows times weights of 2, 4 or 8 bits that stay packed: C [m, n] = A [m, k] * B, element (p, j) of B
// being (code - zero) * scale of its block. Row-major A and C; B as kernels/match/code_panels.h says,
// in panels of PANEL columns. A work-item makes TM rows of VW columns; LANES of them share the depth:
//   lws = {COLS, LANES, 1}, gws = {columns / VW, LANES, ceil(m / TM)}
//   BITS   of a code
//   ZEROS  1: codes have zero points, beside the scales
//   BIAS   1: a row is added, behind them
// A block is cut into pieces.y pieces of at most pieces.x steps of 8 rows: what a work-item takes at a
// time.
#include "kernels/opencl/gemm/operands.clh"
#include "kernels/opencl/gemm/epilogue.clh"
#ifndef TM
#define TM 1
#endif
#ifndef COLS
#define COLS 4
#endif
#ifndef LANES
#define LANES 1
#endif
#ifndef BITS
#define BITS 4
#endif
#ifndef PANEL
#define PANEL 16
#endif
#ifndef ZEROS
#define ZEROS 0
#endif
#ifndef BIAS
#define BIAS 0
#endif
#define STEP 8

#if VW == 1
#define VECTOR_OF(type) type
#define CONVERT(type, v) ((type)(v))
#define LOAD_OF(p) (*(p))
#else
#define VECTOR_OF(type) JOIN(type, VW)
#define CONVERT(type, v) JOIN(JOIN(convert_, type), VW)(v)
#define LOAD_OF(p) JOIN(vload, VW)(0, p)
#endif

// What a work-item reads of a step, and row i of it.
#if BITS == 8
typedef __global const char* codes_t;
#define DECLARE_STEP(codes, at) codes_t step = (codes) + (at) * (STEP * PANEL)
#define CODES(i) CONVERT(float, LOAD_OF(step + (i) * PANEL))
#elif BITS == 4
typedef __global const uint* codes_t;
#define DECLARE_STEP(codes, at) const VECTOR_OF(uint) step = LOAD_OF((codes) + (at) * PANEL)
#define CODES(i) CONVERT(float, AS_INT(step << (28 - 4 * (i))) >> 28)
#else
typedef __global const ushort* codes_t;
#define DECLARE_STEP(codes, at) \
  const VECTOR_OF(uint) step = CONVERT(uint, LOAD_OF((codes) + (at) * PANEL))
#define CODES(i) CONVERT(float, AS_INT(step << (30 - 2 * (i))) >> 30)
#endif
#if VW == 1
#define AS_INT(v) as_int(v)
#else
#define AS_INT(v) JOIN(as_int, VW)(v)
#endif
// Codes of a panel before those of a column of it.
#define CODES_OF_STEP (BITS == 8 ? STEP * PANEL : PANEL)

// Adds a step of products: X(t, i) is element i of row t.
#define ADD_STEP(X)                                                                     \
  _Pragma("unroll") for (int i = 0; i < STEP; ++i) {                                    \
    const vec_t weight = CODES(i) - zero;                                               \
    _Pragma("unroll") for (int t = 0; t < TM; ++t)                                      \
      sum[t] = MULTIPLY_ADD((vec_t)(X(t, i)), weight, sum[t]);                          \
  }
#define INSIDE(t, i) ((float)LOAD(a, rows[t] + p + (i)))
// What lies behind a block may be anything.
#define AT_END(t, i) (p + (i) < end ? (float)LOAD(a, rows[t] + min(p + (i), end - 1)) : 0.0f)

// Adds the products of one piece of a block, `first` to `last` of its steps.
__attribute__((always_inline)) static void AddPiece(__global const storage_t* restrict a, codes_t codes,
                                                    const int first, const int last,
                                                    const int begin, const int end,
                                                    const int* rows, const vec_t zero,
                                                    vec_t sum[TM]) {
  for (int s = first; s < last; ++s) {
    const int p = begin + s * STEP;
    DECLARE_STEP(codes, s);
    if (p + STEP <= end) {
      ADD_STEP(INSIDE)
    } else {
      ADD_STEP(AT_END)
    }
  }
}

// The sums of the pieces that this one of LANES work-items takes.
__attribute__((always_inline)) static void AddPieces(
    __global const storage_t* restrict a, codes_t codes, __global const float* scales,
    __global const char* zeros, const int k, const int block, const int2 pieces, const int lane,
    const int* rows, vec_t total[TM]) {
  const int blocks = (k + block - 1) / block, block_steps = (block + STEP - 1) / STEP;
  for (int at = lane; at < blocks * pieces.y; at += LANES) {
    const int b = at / pieces.y, first = at % pieces.y * pieces.x;
    vec_t sum[TM];
#pragma unroll
    for (int t = 0; t < TM; ++t) sum[t] = (vec_t)(0.0f);
    const int begin = b * block, end = min(begin + block, k);
    const int last = min(first + pieces.x, (end - begin + STEP - 1) / STEP);
#if ZEROS
    const vec_t zero = CONVERT(float, LOAD_OF(zeros + b * PANEL));
#else
    const vec_t zero = (vec_t)(0.0f);
#endif
    AddPiece(a, codes + b * block_steps * CODES_OF_STEP, first, last, begin, end, rows, zero, sum);
    const vec_t scale = LOAD_OF(scales + b * PANEL);
#pragma unroll
    for (int t = 0; t < TM; ++t) total[t] = MULTIPLY_ADD(sum[t], scale, total[t]);
  }
}

__kernel void weight_only_matmul(const int m, const int n, const int k, const int block,
                                 const int2 pieces, __global const storage_t* restrict a,
                                 const int a_offset, __global const char* restrict packed,
                                 const int4 regions, __global storage_t* restrict c,
                                 const int c_offset EXPRESSION_PARAMS) {
  const int lane = get_local_id(1);
  const int column = get_global_id(0) * VW;
  const int row = get_global_id(2) * TM;
  const int blocks = (k + block - 1) / block, block_steps = (block + STEP - 1) / STEP;
  // Columns beyond the last panel compute what the last one does, and store nothing.
  const int panel = min(column / PANEL, (n + PANEL - 1) / PANEL - 1), in_panel = column % PANEL;
  const int first_scale = panel * blocks * PANEL + in_panel;
  int rows[TM];
  vec_t total[TM];
#pragma unroll
  for (int t = 0; t < TM; ++t) {
    rows[t] = a_offset + min(row + t, m - 1) * k;
    total[t] = (vec_t)(0.0f);
  }
  AddPieces(a, (codes_t)(packed + regions.x) + panel * blocks * block_steps * CODES_OF_STEP + in_panel,
            (__global const float*)(packed + regions.y) + first_scale,
            packed + regions.z + first_scale, k, block, pieces, lane, rows, total);

#if LANES > 1
  __local vec_t shared[LANES][COLS];
  for (int t = 0; t < TM; ++t) {
    shared[lane][get_local_id(0)] = total[t];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane == 0)
      for (int i = 1; i < LANES; ++i) total[t] += shared[i][get_local_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (lane > 0) return;
#endif
  const int left = n - column;
  if (left <= 0) return;
#if BIAS
  const vec_t bias = LOAD_OF((__global const float*)(packed + regions.w) + column);
#else
  const vec_t bias = (vec_t)(0.0f);
#endif
#pragma unroll
  for (int t = 0; t < TM; ++t) {
    if (row + t < m)
      StoreColumns(FINISH_SUM(total[t] + bias, row + t, column, left), c,
                   c_offset + (row + t) * n + column, left);
  }
}
