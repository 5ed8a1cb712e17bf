// First stage of a Winograd convolution: patches of the input, transformed. A work-item takes one
// patch of one channel quad: gws = {patches of a plane * CHUNK_QUADS, input chunks, batch * PLANES}
//   x  NCHW4c buffer or NC4HW4 image (access.clh)
//   v  buffer of stage_t [PATCH * PATCH][input chunk][patch of all planes][CHUNK_QUADS][4]; a quad that
//      the input has not is zero
#include "kernels/opencl/access.clh"
#include "kernels/opencl/conv/tile.clh"
#include "kernels/opencl/winograd/transform.clh"

// borders = (rows above, columns to the left); patches = (of a row, of a plane).
__kernel void winograd_input(TENSOR_IN(x), const int4 in_dims, __global stage_t* restrict v,
                             const int v_offset, const int2 borders, const int2 patches) {
  // Neighbours take the quads of a chunk.
  const int patch = get_global_id(0) / CHUNK_QUADS;
  const int chunk = get_global_id(1);
  const int quad = chunk * CHUNK_QUADS + get_global_id(0) % CHUNK_QUADS;
  const int plane = get_global_id(2), n = plane / PLANES;
  const int rows = in_dims.y / PLANES;
  const int chunks = (in_dims.x + CHUNK_QUADS - 1) / CHUNK_QUADS;
  if (patch >= patches.y || chunk >= chunks) return;
  const int first_row = patch / patches.x * TILE - borders.x;
  const int first_column = patch % patches.x * TILE - borders.y;

  float4 d[PATCH * PATCH];
#pragma unroll
  for (int i = 0; i < PATCH; ++i) {
    const int row = first_row + i;
    const bool is_row = row >= 0 && row < rows && quad < in_dims.x;
#pragma unroll
    for (int j = 0; j < PATCH; ++j)
      d[i * PATCH + j] = is_row ? LOAD_PADDED(x, in_dims, n, quad, plane % PLANES * rows + row,
                                              first_column + j)
                                : (float4)(0.0f);
  }
#pragma unroll
  for (int i = 0; i < PATCH; ++i) TransformInput(d + i * PATCH, 1);
  const int all = patches.y * in_dims.w * PLANES;
  const int at = v_offset + (chunk * all + plane * patches.y + patch) * CHUNK_QUADS + quad % CHUNK_QUADS;
#pragma unroll
  for (int j = 0; j < PATCH; ++j) {
    TransformInput(d + j, PATCH);
#pragma unroll
    for (int i = 0; i < PATCH; ++i)
      STORE_STAGE(d[i * PATCH + j], at + (i * PATCH + j) * chunks * all * CHUNK_QUADS, v);
  }
}
