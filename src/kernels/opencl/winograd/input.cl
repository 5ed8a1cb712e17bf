// First stage of a Winograd convolution: patches of the input, transformed. A work-item takes one
// patch of one channel quad: gws = {patches of an image, input quads, batch}
//   x  NCHW4c buffer or NC4HW4 image (access.clh)
//   v  buffer of float4 [PATCH * PATCH][input quad][patch of the batch]
#include "kernels/opencl/access.clh"
#include "kernels/opencl/conv/tile.clh"
#include "kernels/opencl/winograd/transform.clh"

// borders = (rows above, columns to the left); patches = (of a row, of an image).
__kernel void winograd_input(TENSOR_IN(x), const int4 in_dims, __global float* restrict v,
                             const int v_offset, const int2 borders, const int2 patches) {
  const int patch = get_global_id(0);
  const int quad = get_global_id(1);
  const int n = get_global_id(2);
  if (patch >= patches.y || quad >= in_dims.x) return;
  const int first_row = patch / patches.x * TILE - borders.x;
  const int first_column = patch % patches.x * TILE - borders.y;

  float4 d[PATCH * PATCH];
  for (int i = 0; i < PATCH; ++i) {
    const int row = first_row + i;
    const bool is_row = row >= 0 && row < in_dims.y;
    for (int j = 0; j < PATCH; ++j)
      d[i * PATCH + j] = is_row ? LOAD_PADDED(x, in_dims, n, quad, row, first_column + j)
                                : (float4)(0.0f);
    TransformInput(d + i * PATCH, 1);
  }
  const int all = patches.y * in_dims.w;
  const int at = v_offset + quad * all + n * patches.y + patch;
  for (int j = 0; j < PATCH; ++j) {
    TransformInput(d + j, PATCH);
    for (int i = 0; i < PATCH; ++i)
      vstore4(d[i * PATCH + j], at + (i * PATCH + j) * in_dims.x * all, v);
  }
}
