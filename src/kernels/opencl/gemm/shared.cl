// C [m, n] = A [m, k] * B [k, n], few outputs of long sums: a work-group makes TM x TN outputs, to which each of its
// items adds every LANES-th step of k; what they have is joined in local memory: lws = {LANES, 1, 1}, gws = {LANES *
// ceil(n / TN), ceil(m / TM), matrices}.
//   TRANS_A, TRANS_B  1: A is [k, m], B is [n, k]
//   LANES             a multiple of 16
// Matrix i of C is of matrices (i / batch.x) % batch.y of A and (i / batch.z) % batch.w of B.
#ifndef TM
#define TM 2
#endif
#ifndef TN
#define TN 2
#endif
#ifndef LANES
#define LANES 256
#endif
#ifndef TRANS_A
#define TRANS_A 0
#endif
#ifndef TRANS_B
#define TRANS_B 0
#endif
#define VW 1
#include "kernels/opencl/gemm/operands.clh"
#include "kernels/opencl/gemm/epilogue.clh"

#define OUTPUTS (TM * TN)
#define SPANS 16  // of the items' sums of an output, which are added up first

__kernel __attribute__((reqd_work_group_size(LANES, 1, 1))) void gemm_shared(
    const int m, const int n, const int k, __global const storage_t* restrict a, const int a_offset,
    __global const storage_t* restrict b, const int b_offset, __global storage_t* restrict c,
    const int c_offset, const int4 batch ADDEND_PARAMS EXPRESSION_PARAMS) {
  __local float parts[OUTPUTS * LANES], spans[OUTPUTS * SPANS];
  const int lane = get_local_id(0), matrix = get_global_id(2);
  const int first_column = (int)get_global_id(0) / LANES * TN, first_row = (int)get_global_id(1) * TM;
  a += a_offset + MatrixOf(matrix, batch.x, batch.y) * m * k;
  b += b_offset + MatrixOf(matrix, batch.z, batch.w) * k * n;
  float sum[TM][TN];
  for (int i = 0; i < TM; ++i)
    for (int j = 0; j < TN; ++j) sum[i][j] = 0.0f;
#pragma unroll 2
  for (int p = lane; p < k; p += LANES) {
    float right[TN];
#pragma unroll
    for (int j = 0; j < TN; ++j) {
      const int column = min(first_column + j, n - 1);
      right[j] = LOAD(b, TRANS_B ? column * k + p : p * n + column);
    }
#pragma unroll
    for (int i = 0; i < TM; ++i) {
      const int row = min(first_row + i, m - 1);
      const float left = LOAD(a, TRANS_A ? p * m + row : row * k + p);
#pragma unroll
      for (int j = 0; j < TN; ++j) sum[i][j] = MULTIPLY_ADD(left, right[j], sum[i][j]);
    }
  }
#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN; ++j) parts[(i * TN + j) * LANES + lane] = sum[i][j];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int e = lane; e < OUTPUTS * SPANS; e += LANES) {
    float of_span = 0.0f;
    for (int q = e % SPANS; q < LANES; q += SPANS) of_span += parts[e / SPANS * LANES + q];
    spans[e] = of_span;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const int row = first_row + lane / TN, column = first_column + lane % TN;
  if (lane < OUTPUTS && row < m && column < n) {
    float all = 0.0f;
    for (int s = 0; s < SPANS; ++s) all += spans[lane * SPANS + s];
    const int out_row = matrix * m + row;
    STORE(FINISH_SUM(all, out_row, column, 1), c, c_offset + out_row * n + column);
  }
}
