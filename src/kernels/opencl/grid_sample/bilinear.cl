// Sampling of an image at the points of a grid. x and y are in pixels of four channels
// (access.clh); a work-item makes one pixel of y: gws = {height * width, channel blocks, batch}.
//   grid  f32 (x, y) pairs [batch][height][width], whatever the storage of the pixels: a pixel of a
//         large picture is a small step of the grid
//   map   (scale, shift) across, then down: position = coordinate * scale + shift
#include "kernels/opencl/access.clh"

// The two neighbours of a position and their weights, 0 outside of the image.
static void FindTaps(float at, const int extent, const int nearest, const int border, int* index,
                     float* weight) {
  if (nearest) at = rint(at);
  if (border) at = clamp(at, 0.0f, (float)(extent - 1));
  // Far outside, and NaN: no tap counts.
  at = at >= -2.0f ? fmin(at, (float)(extent + 1)) : -2.0f;
  const int first = (int)floor(at);
  const float ratio = at - floor(at);
  index[0] = clamp(first, 0, extent - 1);
  index[1] = clamp(first + 1, 0, extent - 1);
  weight[0] = first >= 0 && first < extent ? 1.0f - ratio : 0.0f;
  weight[1] = first >= -1 && first + 1 < extent ? ratio : 0.0f;
}

__kernel void bilinear(TENSOR_IN(x), const int4 x_dims, __global const float* restrict grid,
                       const int grid_offset, TENSOR_OUT(y), const int4 y_dims, const float4 map,
                       const int nearest, const int border) {
  const int place = get_global_id(0);
  const int block = get_global_id(1);
  const int n = get_global_id(2);
  const int points = y_dims.y * y_dims.z;
  if (place >= points || block >= y_dims.x) return;
  const float2 point = vload2(n * points + place, grid + grid_offset);
  int rows[2], columns[2];
  float down[2], across[2];
  FindTaps(point.x * map.s0 + map.s1, x_dims.z, nearest, border, columns, across);
  FindTaps(point.y * map.s2 + map.s3, x_dims.y, nearest, border, rows, down);
  float4 v = (float4)(0.0f);
#pragma unroll
  for (int i = 0; i < 2; ++i)
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      // What has no weight may be infinite.
      const float weight = down[i] * across[j];
      if (weight != 0.0f) v += weight * LOAD4(x, x_dims, n, block, rows[i], columns[j]);
    }
  STORE4(v, y, y_dims, n, block, place / y_dims.z, place % y_dims.z);
}
