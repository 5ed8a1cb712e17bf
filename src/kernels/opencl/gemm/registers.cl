// C [m, n] = A [m, k] * B [k, n], row-major in buffers, each work-item TM rows of TN vectors in
// registers, without local memory: what suits processors and GPUs whose local memory is emulated.
// gws = {ceil(m / TM), ceil(n / (TN * VW)), matrices}, axes 0 and 1 exchanged where ROWS_FIRST is 0.
//   TRANS_A, TRANS_B  1: A is [k, m], B is [n, k]
//   SPLIT_K           1: axis 2 takes `split` steps of k each and C is f32 [parts, m, n]
// Operands of more than one matrix: matrix i of C is of matrices (i / batch.x) % batch.y of A and
// (i / batch.z) % batch.w of B.
#ifndef TM
#define TM 6
#endif
#ifndef TN
#define TN 2
#endif
#ifndef K_UNROLL
#define K_UNROLL 1
#endif
#ifndef ROWS_FIRST
#define ROWS_FIRST 0
#endif
#ifndef TRANS_A
#define TRANS_A 0
#endif
#ifndef TRANS_B
#define TRANS_B 0
#endif
#ifndef SPLIT_K
#define SPLIT_K 0
#endif
#include "kernels/opencl/gemm/operands.clh"
#include "kernels/opencl/gemm/epilogue.clh"

#if TRANS_A
#define A_AT(row, p) ((p) * m + (row))
#else
#define A_AT(row, p) ((row) * k + (p))
#endif
#if TRANS_B
#define B_VECTOR(p, column, left) Gather(b, (column) * k + (p), k, left)
#else
#define B_VECTOR(p, column, left) LoadColumns(b, (p) * n + (column), left)
#endif

// Adds step p to `sum`. `left` columns are inside: a constant for inner tiles.
__attribute__((always_inline)) void Step(const int m, const int n, const int k,
                                                __global const storage_t* restrict a,
                                                __global const storage_t* restrict b,
                                                const int row, const int column, const int left,
                                                const int p, real_vec_t sum[TM][TN]) {
  real_vec_t right[TN];
#pragma unroll
  for (int j = 0; j < TN; ++j) right[j] = B_VECTOR(p, column + j * VW, left - j * VW);
#pragma unroll
  for (int i = 0; i < TM; ++i) {
    const real_vec_t scale = (real_vec_t)(LOAD(a, A_AT(min(row + i, m - 1), p)));
#pragma unroll
    for (int j = 0; j < TN; ++j) sum[i][j] = ADD_PRODUCT(scale, right[j], sum[i][j]);
  }
}

__attribute__((always_inline)) void Steps(const int m, const int n, const int k,
                                                 __global const storage_t* restrict a,
                                                 __global const storage_t* restrict b,
                                                 const int row, const int column, const int left,
                                                 const int first, const int last,
                                                 real_vec_t sum[TM][TN]) {
  int p = first;
  for (; p + K_UNROLL <= last; p += K_UNROLL)
#pragma unroll
    for (int u = 0; u < K_UNROLL; ++u) Step(m, n, k, a, b, row, column, left, p + u, sum);
  for (; K_UNROLL > 1 && p < last; ++p) Step(m, n, k, a, b, row, column, left, p, sum);
}

// Sums of f16 would soon lose their last bits: PART_STEPS of them are folded into those of f32.
#if FETTLE_COMPUTE
#define PART_STEPS 16
__attribute__((always_inline)) void Accumulate(const int m, const int n, const int k,
                                               __global const storage_t* restrict a,
                                               __global const storage_t* restrict b, const int row,
                                               const int column, const int left, const int first,
                                               const int last, vec_t sum[TM][TN]) {
  for (int p = first; p < last; p += PART_STEPS) {
    real_vec_t part[TM][TN];
#pragma unroll
    for (int i = 0; i < TM; ++i)
#pragma unroll
      for (int j = 0; j < TN; ++j) part[i][j] = (real_vec_t)((REAL)0);
    Steps(m, n, k, a, b, row, column, left, p, min(p + PART_STEPS, last), part);
#pragma unroll
    for (int i = 0; i < TM; ++i)
#pragma unroll
      for (int j = 0; j < TN; ++j) sum[i][j] += WIDE_VEC(part[i][j]);
  }
}
#else
#define Accumulate Steps
#endif

#if TM * TN * VW > 64
#define STORE_LOOP _Pragma("unroll 1")
#else
#define STORE_LOOP _Pragma("unroll")
#endif

#if SPLIT_K
#define C_TYPE float
#define SPLIT_PARAMS , const int split
// Partial sums stay f32 whatever the operands are.
void StoreSums(const vec_t v, __global float* c, const int at, const int left) {
  float lanes[VW];
  SPREAD(v, lanes);
  EACH_LANE for (int i = 0; i < VW; ++i)
    if (i < left) c[at + i] = lanes[i];
}
#else
#define C_TYPE storage_t
#define SPLIT_PARAMS
#endif

__kernel void gemm_registers(const int m, const int n, const int k,
                             __global const storage_t* restrict a, const int a_offset,
                             __global const storage_t* restrict b, const int b_offset,
                             __global C_TYPE* restrict c, const int c_offset,
                             const int4 batch SPLIT_PARAMS ADDEND_PARAMS EXPRESSION_PARAMS) {
  const int row = get_global_id(ROWS_FIRST ? 0 : 1) * TM;
  const int column = get_global_id(ROWS_FIRST ? 1 : 0) * (TN * VW);
  const int z = get_global_id(2);
  if (column >= n || row >= m) return;
  const int left = n - column;
#if SPLIT_K
  const int first = z * split, last = min(first + split, k);
  a += a_offset;
  b += b_offset;
#else
  const int first = 0, last = k;
  a += a_offset + MatrixOf(z, batch.x, batch.y) * m * k;
  b += b_offset + MatrixOf(z, batch.z, batch.w) * k * n;
#endif
  vec_t sum[TM][TN];
#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN; ++j) sum[i][j] = (vec_t)(0.0f);
  if (left >= TN * VW)
    Accumulate(m, n, k, a, b, row, column, TN * VW, first, last, sum);
  else
    Accumulate(m, n, k, a, b, row, column, left, first, last, sum);
  // Sums of a large tile leave the registers before they are finished: unrolled, its epilogue would
  // take compilers minutes.
  vec_t kept[TM * TN];
#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN; ++j) kept[i * TN + j] = sum[i][j];
  STORE_LOOP for (int t = 0; t < TM * TN; ++t) {
    const int out_row = row + t / TN, out_column = column + t % TN * VW;
    const int inside = out_row < m ? n - out_column : 0;
    const int at = c_offset + (z * m + out_row) * n + out_column;
#if SPLIT_K
    StoreSums(kept[t], c, at, inside);
#else
    if (inside > 0)
      StoreColumns(FINISH_SUM(kept[t], z * m + out_row, out_column, inside), c, at, inside);
#endif
  }
}
