// C [m, n] = A * B with A given transposed, [k, m], so that both operands are read by vectors along
// their rows; B [k, n] and C row-major; all in buffers. A work-item makes 4 x 4 outputs: gws =
// {ceil(n / 4), ceil(m / 4)}.
#define VW 4
#include "kernels/opencl/gemm/operands.clh"
#include "kernels/opencl/gemm/epilogue.clh"

__kernel void gemm_columns(const int m, const int n, const int k,
                           __global const storage_t* restrict a, const int a_offset,
                           __global const storage_t* restrict b, const int b_offset,
                           __global storage_t* restrict c, const int c_offset ADDEND_PARAMS EXPRESSION_PARAMS) {
  const int column = get_global_id(0) * 4;
  const int row = get_global_id(1) * 4;
  if (column >= n || row >= m) return;
  float4 sum[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) sum[i] = (float4)(0.0f);
  for (int p = 0; p < k; ++p) {
    const float4 left = LoadColumns(a, a_offset + p * m + row, m - row);
    const float4 right = LoadColumns(b, b_offset + p * n + column, n - column);
    sum[0] = MULTIPLY_ADD((float4)(left.x), right, sum[0]);
    sum[1] = MULTIPLY_ADD((float4)(left.y), right, sum[1]);
    sum[2] = MULTIPLY_ADD((float4)(left.z), right, sum[2]);
    sum[3] = MULTIPLY_ADD((float4)(left.w), right, sum[3]);
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
    if (row + i < m)
      StoreColumns(FINISH_SUM(sum[i], row + i, column, n - column), c,
                   c_offset + (row + i) * n + column, n - column);
}
