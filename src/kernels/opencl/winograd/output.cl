// Last stage of a Winograd convolution: products back to TILE x TILE pixels, bias and what follows.
// A work-item takes one patch of one channel quad: gws = {patches of a plane, output quads, batch * PLANES}
//   m     buffer of stage_t [PATCH * PATCH][output quad][patch of all planes][4]
//   y     NCHW4c buffer or NC4HW4 image (access.clh)
//   bias  [output quads][4] as float
#include "kernels/opencl/access.clh"
#include "kernels/opencl/expression/expression.clh"
#define QUADS 1
#include "kernels/opencl/conv/tile.clh"
#include "kernels/opencl/winograd/transform.clh"

// patches = (of a row, of a plane).
__kernel void winograd_output(__global const stage_t* restrict m, const int m_offset, TENSOR_OUT(y),
                              const int4 out_dims, const int channels,
                              __global const float* restrict bias,
                              const int2 patches EXPRESSION_PARAMS) {
  const int patch = get_global_id(0);
  const int quad = get_global_id(1);
  const int plane = get_global_id(2), n = plane / PLANES;
  if (patch >= patches.y || quad >= out_dims.x) return;

  const int all = patches.y * out_dims.w * PLANES, rows = out_dims.y / PLANES;
  const int at = m_offset + quad * all + plane * patches.y + patch;
  float4 p[PATCH * PATCH];
#pragma unroll
  for (int i = 0; i < PATCH * PATCH; ++i) p[i] = LOAD_STAGE(at + i * out_dims.x * all, m);
#pragma unroll
  for (int i = 0; i < PATCH; ++i) TransformOutput(p + i * PATCH, 1);
  const float4 b = vload4(quad, bias);
#pragma unroll
  for (int j = 0; j < TILE; ++j) {
    TransformOutput(p + j, PATCH);
#pragma unroll
    for (int i = 0; i < TILE; ++i) {
      const int of_plane = patch / patches.x * TILE + i, column = patch % patches.x * TILE + j;
      const int row = plane % PLANES * rows + of_plane;
      if (of_plane < rows && column < out_dims.z) {
        STORE_QUAD(p[i * PATCH + j] + b, quad)
      }
    }
  }
}
