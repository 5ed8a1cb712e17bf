// C [m, n] = A [m, k] * B [k, n], all row-major in buffers: one output per work-item, gws = {n, m}.
#define VW 1
#include "kernels/opencl/gemm/operands.clh"
#include "kernels/opencl/gemm/epilogue.clh"

__kernel void gemm_naive(const int m, const int n, const int k, __global const storage_t* restrict a,
                         const int a_offset, __global const storage_t* restrict b,
                         const int b_offset, __global storage_t* restrict c, const int c_offset
                             ADDEND_PARAMS EXPRESSION_PARAMS) {
  const int column = get_global_id(0);
  const int row = get_global_id(1);
  if (column >= n || row >= m) return;
  float sum = 0.0f;
  for (int p = 0; p < k; ++p)
    sum += LOAD(a, a_offset + row * k + p) * LOAD(b, b_offset + p * n + column);
  STORE(FINISH_SUM(sum, row, column, 1), c, c_offset + row * n + column);
}
