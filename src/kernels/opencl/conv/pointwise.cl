// 1x1 convolution of every pixel: a matrix product of weights and pixels. A work-item computes
// QUADS channel quads of TILE_W pixels that follow each other, rows joined:
//   gws = {ceil(height * width / TILE_W), blocks of 4 * QUADS output channels, batch}
//   x, y    NCHW4c buffers or NC4HW4 images (access.clh), of one height and width
//   filter  bias [blocks][4 * QUADS] as float, then weights of the storage type [block][input quad]
//           [4 input channels][4 * QUADS output channels]; with WEIGHTS_IMAGE the bias alone, and
//   weight_rows  an image of the weights: a row is a block, in it [input quad][4 input channels]
//           [QUADS] pixels
#include "kernels/opencl/access.clh"
#include "kernels/opencl/expression/expression.clh"
#include "kernels/opencl/conv/tile.clh"
#include "kernels/opencl/conv/weights.clh"

__kernel void conv_pointwise(TENSOR_IN(x), const int4 in_dims, TENSOR_OUT(y), const int4 out_dims,
                             const int channels, FILTER_PARAMS EXPRESSION_PARAMS) {
  const int pixels = out_dims.y * out_dims.z;
  const int first_pixel = (int)get_global_id(0) * TILE_W;
  const int block = get_global_id(1);
  const int n = get_global_id(2);
  if (first_pixel >= pixels || block * QUADS >= out_dims.x) return;

  CHANNELS acc[TILE_W];
  int2 place[TILE_W];  // (column, row); those beyond the end repeat the last pixel
#pragma unroll
  for (int t = 0; t < TILE_W; ++t) {
    acc[t] = LOAD_BIAS(filter, block);
    const int pixel = min(first_pixel + t, pixels - 1);
    place[t] = (int2)(pixel % out_dims.z, pixel / out_dims.z);
  }

  DECLARE_PARTS;
  DECLARE_WEIGHTS(block, in_dims.x, 1);
  for (int quad = 0; quad < in_dims.x; ++quad) {
    REAL4 v[TILE_W];
#pragma unroll
    for (int t = 0; t < TILE_W; ++t) v[t] = LOAD4(x, in_dims, n, quad, place[t].y, place[t].x);
    const REALS w0 = WEIGHTS(quad, 0, 0);
    const REALS w1 = WEIGHTS(quad, 0, 1);
    const REALS w2 = WEIGHTS(quad, 0, 2);
    const REALS w3 = WEIGHTS(quad, 0, 3);
#pragma unroll
    for (int t = 0; t < TILE_W; ++t) {
      ADD_QUAD(SUM(t), v[t], w0, w1, w2, w3);
    }
    END_STEP
  }
  END_SUMS

#pragma unroll
  for (int t = 0; t < TILE_W; ++t) {
    if (first_pixel + t < pixels) {
      const int row = place[t].y, column = place[t].x;
      STORE_CHANNELS(acc[t], block * QUADS)
    }
  }
}
