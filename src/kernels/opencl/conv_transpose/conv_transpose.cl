// Transposed convolution with any window, stride, dilation, padding and groups, gathered: an output
// reads the inputs whose taps reach it. A work-item computes QUADS channel quads of TILE_W columns
// that are `stride` apart, so that all of them meet the same taps:
//   gws = {output rows * column stride * tiles of a phase, blocks of 4 * QUADS output channels,
//          batch}
//   x, y    NCHW4c buffers or NC4HW4 images (access.clh)
//   filter  bias [blocks][4 * QUADS] as float, then weights of the storage type [block][input quad]
//           [kernel row][kernel column][4 input channels][4 * QUADS output channels]
#include "kernels/opencl/access.clh"
#include "kernels/opencl/expression/expression.clh"
#include "kernels/opencl/conv/tile.clh"

// window = (kernel rows, kernel columns, row stride, column stride); borders = (rows above, columns
// to the left, row dilation, column dilation); groups = (input channels, output channels) of one.
__kernel void conv_transpose(TENSOR_IN(x), const int4 in_dims, TENSOR_OUT(y), const int4 out_dims,
                             const int channels, __global const float* restrict filter,
                             const int bias_floats, const int4 window, const int4 borders,
                             const int depth, const int2 groups EXPRESSION_PARAMS) {
  const int stride = window.w;
  const int tiles = ((out_dims.z + stride - 1) / stride + TILE_W - 1) / TILE_W;
  const int row = (int)get_global_id(0) / (tiles * stride);
  const int phase = (int)get_global_id(0) / tiles % stride;
  const int first = (int)get_global_id(0) % tiles * TILE_W;  // in its phase
  const int block = get_global_id(1);
  const int n = get_global_id(2);
  if (row >= out_dims.y || block * QUADS >= out_dims.x) return;

  CHANNELS acc[TILE_W];
  for (int t = 0; t < TILE_W; ++t) acc[t] = LOAD_BIAS(filter, block);

  const int first_quad = min(block * LANES / groups.y * groups.x / 4, in_dims.x - depth);
  const int taps = window.x * window.y;
  __global const storage_t* block_weights =
      (__global const storage_t*)(filter + bias_floats) + block * depth * taps * 4 * LANES;
  for (int i = 0; i < window.x; ++i) {
    const int reached_row = row + borders.x - i * borders.z;
    const int in_row = reached_row / window.z;
    if (reached_row < 0 || in_row * window.z != reached_row || in_row >= in_dims.y) continue;
    for (int j = 0; j < window.y; ++j) {
      // Columns of the padded input's scale; may lie left of it for the first columns of a tile.
      const int reached = phase + borders.y - j * borders.w;
      const int step = (reached + borders.w * window.y * stride) / stride - borders.w * window.y;
      if (step * stride != reached) continue;
      __global const storage_t* weights = block_weights + (i * window.y + j) * 4 * LANES;
      for (int quad = 0; quad < depth; ++quad, weights += taps * 4 * LANES) {
        const CHANNELS w0 = LOAD_WEIGHTS(weights, 0);
        const CHANNELS w1 = LOAD_WEIGHTS(weights, 1);
        const CHANNELS w2 = LOAD_WEIGHTS(weights, 2);
        const CHANNELS w3 = LOAD_WEIGHTS(weights, 3);
        for (int t = 0; t < TILE_W; ++t) {
          const float4 v =
              LOAD_PADDED(x, in_dims, n, first_quad + quad, in_row, step + first + t);
          ADD_QUAD(acc[t], v, w0, w1, w2, w3);
        }
      }
    }
  }

  for (int t = 0; t < TILE_W; ++t) {
    const int column = (first + t) * stride + phase;
    if (column < out_dims.z) {
      STORE_CHANNELS(acc[t], block * QUADS)
    }
  }
}
