// C [m, n] = A * B with A given transposed, [k, m], in a buffer, B [k, n] as an image (pixel x of row
// y holds elements 4 x .. 4 x + 3 of matrix row y), C row-major in a buffer: Qualcomm's recipe for
// Adreno. A work-item makes 8 rows of 4 outputs: gws = {ceil(n / 4), ceil(m / 8)}.
//   K_UNROLL  steps of k at once
#ifndef K_UNROLL
#define K_UNROLL 1
#endif
#define VW 4
#include "kernels/opencl/gemm/operands.clh"
#include "kernels/opencl/gemm/epilogue.clh"

__constant sampler_t kTexels =
    CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;

__kernel void gemm_buffer_image(const int m, const int n, const int k,
                                __global const storage_t* restrict a, const int a_offset,
                                __read_only image2d_t b, const int b_offset,
                                __global storage_t* restrict c, const int c_offset
                                ADDEND_PARAMS EXPRESSION_PARAMS) {
  const int quad = get_global_id(0);
  const int column = quad * 4;
  const int row = get_global_id(1) * 8;
  if (column >= n || row >= m) return;
  float4 sum[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) sum[i] = (float4)(0.0f);
  for (int p0 = 0; p0 < k; p0 += K_UNROLL) {
#pragma unroll
    for (int u = 0; u < K_UNROLL; ++u) {
      const int p = p0 + u;
      const int at = a_offset + p * m + row;
      const int rows = p < k ? m - row : 0;
      const float4 upper = LoadColumns(a, at, rows);
      const float4 lower = LoadColumns(a, at + 4, rows - 4);
      const float4 right = p < k ? read_imagef(b, kTexels, (int2)(quad, p)) : (float4)(0.0f);
      sum[0] = MULTIPLY_ADD((float4)(upper.x), right, sum[0]);
      sum[1] = MULTIPLY_ADD((float4)(upper.y), right, sum[1]);
      sum[2] = MULTIPLY_ADD((float4)(upper.z), right, sum[2]);
      sum[3] = MULTIPLY_ADD((float4)(upper.w), right, sum[3]);
      sum[4] = MULTIPLY_ADD((float4)(lower.x), right, sum[4]);
      sum[5] = MULTIPLY_ADD((float4)(lower.y), right, sum[5]);
      sum[6] = MULTIPLY_ADD((float4)(lower.z), right, sum[6]);
      sum[7] = MULTIPLY_ADD((float4)(lower.w), right, sum[7]);
    }
  }
#pragma unroll
  for (int i = 0; i < 8; ++i)
    if (row + i < m)
      StoreColumns(FINISH_SUM(sum[i], row + i, column, n - column), c,
                   c_offset + (row + i) * n + column, n - column);
}
