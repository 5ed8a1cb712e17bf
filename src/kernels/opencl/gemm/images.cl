// C [m, n] = A [m, k] * B [k, n]: A an image, in which pixel x of row y holds elements 4 x .. 4 x + 3
// of matrix row y (zero behind the last), B and C either such images or row-major in buffers. Images
// may be larger than their matrices. A work-item makes 4 x 4 outputs: gws = {ceil(n / 4),
// ceil(m / 4)}.
//   B_IMAGE, C_IMAGE  1: an image, 0: a buffer
#ifndef B_IMAGE
#define B_IMAGE 1
#endif
#ifndef C_IMAGE
#define C_IMAGE 0
#endif
#define VW 4
#include "kernels/opencl/gemm/operands.clh"
#include "kernels/opencl/gemm/epilogue.clh"

__constant sampler_t kTexels =
    CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;

#if B_IMAGE
#define B_OPERAND __read_only image2d_t b
#define B_QUAD(p) ((p) < k ? read_imagef(b, kTexels, (int2)(column / 4, p)) : (float4)(0.0f))
#else
#define B_OPERAND __global const storage_t* restrict b
#define B_QUAD(p) ((p) < k ? LoadColumns(b, b_offset + (p) * n + column, n - column) : (float4)(0.0f))
#endif
#if C_IMAGE
#define C_OPERAND __write_only image2d_t c
#if FETTLE_HALF && FETTLE_COMPUTE != 1
#define WRITE_PIXEL WRITE_HALVES
#else
#define WRITE_PIXEL write_imagef
#endif
#else
#define C_OPERAND __global storage_t* restrict c
#endif

__kernel void gemm_images(const int m, const int n, const int k,
                          __read_only image2d_t a, const int a_offset, B_OPERAND, const int b_offset,
                          C_OPERAND, const int c_offset ADDEND_PARAMS EXPRESSION_PARAMS) {
  const int column = get_global_id(0) * 4;
  const int row = get_global_id(1) * 4;
  if (column >= n || row >= m) return;
  float4 sum[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) sum[i] = (float4)(0.0f);
  for (int p = 0; p < k; p += 4) {
    const float4 right0 = B_QUAD(p);
    const float4 right1 = B_QUAD(p + 1);
    const float4 right2 = B_QUAD(p + 2);
    const float4 right3 = B_QUAD(p + 3);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float4 left = read_imagef(a, kTexels, (int2)(p / 4, min(row + i, m - 1)));
      sum[i] = MULTIPLY_ADD((float4)(left.x), right0, sum[i]);
      sum[i] = MULTIPLY_ADD((float4)(left.y), right1, sum[i]);
      sum[i] = MULTIPLY_ADD((float4)(left.z), right2, sum[i]);
      sum[i] = MULTIPLY_ADD((float4)(left.w), right3, sum[i]);
    }
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (row + i >= m) continue;
    const float4 result = FINISH_SUM(sum[i], row + i, column, n - column);
#if C_IMAGE
    const int4 inside = (int4)(column, column + 1, column + 2, column + 3) < n;
    WRITE_PIXEL(c, (int2)(column / 4, row + i), select((float4)(0.0f), result, inside));
#else
    StoreColumns(result, c, c_offset + (row + i) * n + column, n - column);
#endif
  }
}
