// Resampling of the plane, or of planes below each other, by tables: y = sum over taps of both axes of their weights' product times
// x. x and y are in pixels of four channels (access.clh); a work-item makes one pixel of y: gws =
// {height * width, channel blocks, batch}.
//   table  (index, weight as bits) of height * tap_counts.x taps, then of width * tap_counts.y
#include "kernels/opencl/access.clh"
#include "kernels/opencl/expression/expression.clh"

__kernel void taps(TENSOR_IN(x), const int4 x_dims, TENSOR_OUT(y), const int4 y_dims,
                   __global const int2* restrict table, const int table_offset,
                   const int2 tap_counts EXPRESSION_PARAMS) {
  const int place = get_global_id(0);
  const int block = get_global_id(1);
  const int n = get_global_id(2);
  if (place >= y_dims.y * y_dims.z || block >= y_dims.x) return;
  const int row = place / y_dims.z, column = place % y_dims.z;
  __global const int2* down = table + table_offset + row * tap_counts.x;
  __global const int2* across =
      table + table_offset + y_dims.y * tap_counts.x + column * tap_counts.y;
  float4 v = (float4)(0.0f);
  for (int i = 0; i < tap_counts.x; ++i) {
    float4 blended = (float4)(0.0f);
    for (int j = 0; j < tap_counts.y; ++j)
      blended += as_float(across[j].y) * LOAD4(x, x_dims, n, block, down[i].x, across[j].x);
    v += as_float(down[i].y) * blended;
  }
  const float4 result = FINISH(v, y_dims, n, block, row, column);
  STORE4(result, y, y_dims, n, block, row, column);
}
