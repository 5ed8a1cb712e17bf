// Convolution with any window, stride, dilation, padding and groups. A work-item computes QUADS
// channel quads of TILE_W neighbouring columns of one output row:
//   gws = {output rows * tiles of a row, blocks of 4 * QUADS output channels, batch}
//   x, y    NCHW4c buffers or NC4HW4 images (access.clh)
//   filter  bias [blocks][4 * QUADS] as float, then weights of the storage type [block][input quad]
//           [kernel row][kernel column][4 input channels][4 * QUADS output channels]; with
//           WEIGHTS_IMAGE the bias alone, and
//   weight_rows  an image of the weights of one group: a row is (block, kernel row, kernel column), in
//           it [input quad][4 input channels][QUADS] pixels
// A block reads `depth` quads from that of its first group on; weights of other groups are zero.
#include "kernels/opencl/access.clh"
#include "kernels/opencl/expression/expression.clh"
#include "kernels/opencl/conv/tile.clh"
#include "kernels/opencl/conv/weights.clh"

// window = (kernel rows, kernel columns, row stride, column stride); borders = (rows above, columns
// to the left, row dilation, column dilation); groups = (input channels, output channels) of one.
__kernel void conv_direct(TENSOR_IN(x), const int4 in_dims, TENSOR_OUT(y), const int4 out_dims,
                          const int channels, FILTER_PARAMS, const int4 window,
                          const int4 borders, const int depth,
                          const int2 groups EXPRESSION_PARAMS) {
  const int tiles = (out_dims.z + TILE_W - 1) / TILE_W;
  const int row = (int)get_global_id(0) / tiles;
  const int first_column = (int)get_global_id(0) % tiles * TILE_W;
  const int block = get_global_id(1);
  const int n = get_global_id(2);
  if (row >= out_dims.y || block * QUADS >= out_dims.x) return;

  CHANNELS acc[TILE_W];
#pragma unroll
  for (int t = 0; t < TILE_W; ++t) acc[t] = LOAD_BIAS(filter, block);
  DECLARE_PARTS;

  const int first_quad = min(block * LANES / groups.y * groups.x / 4, in_dims.x - depth);
  const int taps = window.x * window.y;
  DECLARE_WEIGHTS(block, depth, taps);
  for (int quad = first_quad; quad < first_quad + depth; ++quad) {
    for (int i = 0; i < window.x; ++i) {
      const int in_row = row * window.z - borders.x + i * borders.z;
      if (in_row < 0 || in_row >= in_dims.y) continue;
      int in_column = first_column * window.w - borders.y;
      for (int j = 0; j < window.y; ++j, in_column += borders.w) {
        REAL4 v[TILE_W];
#pragma unroll
        for (int t = 0; t < TILE_W; ++t)
          v[t] = LOAD_PADDED(x, in_dims, n, quad, in_row, in_column + t * window.w);
        const REALS w0 = WEIGHTS(quad - first_quad, i * window.y + j, 0);
        const REALS w1 = WEIGHTS(quad - first_quad, i * window.y + j, 1);
        const REALS w2 = WEIGHTS(quad - first_quad, i * window.y + j, 2);
        const REALS w3 = WEIGHTS(quad - first_quad, i * window.y + j, 3);
#pragma unroll
        for (int t = 0; t < TILE_W; ++t) {
          ADD_QUAD(SUM(t), v[t], w0, w1, w2, w3);
        }
        END_STEP
      }
    }
  }
  END_SUMS

#pragma unroll
  for (int t = 0; t < TILE_W; ++t) {
    const int column = first_column + t;
    if (column < out_dims.z) {
      STORE_CHANNELS(acc[t], block * QUADS)
    }
  }
}
