// Convolution of a row-major input of few channels, as a network's first layer has it: nothing is
// converted before. A work-item computes QUADS channel quads of TILE_W neighbouring columns:
//   gws = {output rows * tiles of a row, blocks of 4 * QUADS output channels, batch}
//   x       row-major buffer [batch][channel][row][column] of the storage type
//   y       NCHW4c buffer or NC4HW4 image (access.clh)
//   filter  bias [blocks][4 * QUADS] as float, then weights of the storage type [block][channel]
//           [kernel row][kernel column][4 * QUADS output channels]
#include "kernels/opencl/access.clh"
#include "kernels/opencl/expression/expression.clh"
#include "kernels/opencl/conv/tile.clh"

// in_dims = (channels, height, width, batch); window = (kernel rows, kernel columns, row stride,
// column stride); borders = (rows above, columns to the left, row dilation, column dilation).
__kernel void conv_first_layer(__global const storage_t* restrict x, const int x_offset,
                               const int4 in_dims, TENSOR_OUT(y), const int4 out_dims,
                               const int channels, __global const float* restrict filter,
                               const int bias_floats, const int4 window,
                               const int4 borders EXPRESSION_PARAMS) {
  const int tiles = (out_dims.z + TILE_W - 1) / TILE_W;
  const int row = (int)get_global_id(0) / tiles;
  const int first_column = (int)get_global_id(0) % tiles * TILE_W;
  const int block = get_global_id(1);
  const int n = get_global_id(2);
  if (row >= out_dims.y || block * QUADS >= out_dims.x) return;

  CHANNELS acc[TILE_W];
  for (int t = 0; t < TILE_W; ++t) acc[t] = LOAD_BIAS(filter, block);

  __global const storage_t* weights = (__global const storage_t*)(filter + bias_floats) +
                                      block * in_dims.x * window.x * window.y * LANES;
  for (int c = 0; c < in_dims.x; ++c) {
    for (int i = 0; i < window.x; ++i, weights += window.y * LANES) {
      const int in_row = row * window.z - borders.x + i * borders.z;
      if (in_row < 0 || in_row >= in_dims.y) continue;
      const int line = x_offset + ((n * in_dims.x + c) * in_dims.y + in_row) * in_dims.z;
      int in_column = first_column * window.w - borders.y;
      for (int j = 0; j < window.y; ++j, in_column += borders.w) {
        const CHANNELS w = LOAD_WEIGHTS(weights, j);
        for (int t = 0; t < TILE_W; ++t) {
          const int at = in_column + t * window.w;
          const float v = at < 0 || at >= in_dims.z ? 0.0f : LOAD(x, line + at);
          acc[t] = MULTIPLY_ADD((CHANNELS)(v), w, acc[t]);
        }
      }
    }
  }

  for (int t = 0; t < TILE_W; ++t) {
    const int column = first_column + t;
    if (column < out_dims.z) {
      STORE_CHANNELS(acc[t], block * QUADS)
    }
  }
}
