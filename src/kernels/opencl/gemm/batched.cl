// Many small products, C [m, n] = A [m, k] * B [k, n] each, row-major in buffers one after another:
// a work-group brings one A and one B to local memory as a whole and its work-items share the
// outputs: lws = {LANES, 1, 1}, gws = {LANES, 1, matrices}.
//   M, N, K  the sizes, so that the compiler knows the loops
//   LANES    work-items of a work-group
// Matrix i of C is of matrices (i / batch.x) % batch.y of A and (i / batch.z) % batch.w of B.
#ifndef M
#define M 8
#endif
#ifndef N
#define N 8
#endif
#ifndef K
#define K 8
#endif
#ifndef LANES
#define LANES 16
#endif
#define VW 4
#include "kernels/opencl/gemm/operands.clh"
#include "kernels/opencl/gemm/epilogue.clh"

#define QUADS ((N + 3) / 4)

__kernel __attribute__((reqd_work_group_size(LANES, 1, 1))) void gemm_batched(
    const int m, const int n, const int k, __global const storage_t* restrict a, const int a_offset,
    __global const storage_t* restrict b, const int b_offset, __global storage_t* restrict c,
    const int c_offset, const int4 batch ADDEND_PARAMS EXPRESSION_PARAMS) {
  __local float left[M * K];
  __local float4 right[K * QUADS];
  const int item = get_local_id(0);
  const int matrix = get_global_id(2);
  a += a_offset + MatrixOf(matrix, batch.x, batch.y) * (M * K);
  b += b_offset + MatrixOf(matrix, batch.z, batch.w) * (K * N);
  for (int i = item; i < M * K; i += LANES) left[i] = LOAD(a, i);
  for (int i = item; i < K * QUADS; i += LANES) {
    const int column = i % QUADS * 4;
    right[i] = LoadColumns(b, i / QUADS * N + column, N - column);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = item; i < M * QUADS; i += LANES) {
    const int row = i / QUADS, quad = i % QUADS;
    float4 sum = (float4)(0.0f);
    for (int p = 0; p < K; ++p)
      sum = MULTIPLY_ADD((float4)(left[row * K + p]), right[p * QUADS + quad], sum);
    const int out_row = matrix * M + row;
    StoreColumns(FINISH_SUM(sum, out_row, quad * 4, N - quad * 4), c,
                 c_offset + out_row * N + quad * 4, N - quad * 4);
  }
}
